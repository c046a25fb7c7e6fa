//! The digamma function, the derivative of the logarithm of the gamma function.

/// Digamma of a number above 0: by recurrence up to 6, then by its asymptotic series. Below 1e-9 off.
pub(super) fn digamma(mut x: f64) -> f64 {
    let mut result = 0.0;
    while x < 6.0 {
        result -= 1.0 / x;
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    // The terms of the asymptotic series: Bernoulli numbers B(2n), divided by 2n.
    let series = inverse
        * (1.0 / 12.0
            - inverse * (1.0 / 120.0 - inverse * (1.0 / 252.0 - inverse * (1.0 / 240.0 - inverse / 132.0))));
    result + libm::log(x) - 0.5 / x - series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_and_the_recurrence() {
        let euler = 0.577_215_664_901_532_9;
        for (x, want) in [
            (1.0, -euler),
            (2.0, 1.0 - euler),
            (0.5, -euler - 2.0 * std::f64::consts::LN_2),
            (1e6, 13.815_510_057_964_191),
        ] {
            assert!((digamma(x) - want).abs() < 1e-9, "{x}");
        }
        for x in [0.01, 0.3, 1.7, 5.9, 40.0] {
            assert!((digamma(x + 1.0) - digamma(x) - 1.0 / x).abs() < 1e-9, "{x}");
        }
    }
}
