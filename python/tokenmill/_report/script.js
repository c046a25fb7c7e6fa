"use strict";
// Without this script everything is shown, and nothing is folded.
for (const folded of document.querySelectorAll("details.folded")) folded.open = false;

// ---- samples: the token that is pointed at, or reached by the arrow keys ------------------------
for (const sample of document.querySelectorAll(".sample")) {
  const tokens = [...sample.querySelectorAll(".t")];
  const said = sample.parentElement.querySelector(".said");
  let chosen = -1;
  const choose = (place) => {
    if (chosen >= 0) tokens[chosen].classList.remove("chosen");
    chosen = place;
    if (chosen < 0) { said.textContent = ""; return; }
    const token = tokens[chosen];
    token.classList.add("chosen");
    said.textContent = `${chosen + 1} of ${tokens.length}: ${token.title}`;
  };
  if (!tokens.length) continue;
  sample.addEventListener("mouseover", (event) => {
    const place = tokens.indexOf(event.target);
    if (place >= 0) choose(place);
  });
  sample.addEventListener("click", (event) => {
    const place = tokens.indexOf(event.target);
    if (place >= 0) choose(place);
  });
  sample.addEventListener("focus", () => { if (chosen < 0) choose(0); });
  sample.addEventListener("keydown", (event) => {
    const forward = sample.dir === "rtl" ? "ArrowLeft" : "ArrowRight";
    const back = sample.dir === "rtl" ? "ArrowRight" : "ArrowLeft";
    const last = tokens.length - 1;
    const places = { [forward]: Math.min(chosen + 1, last), [back]: Math.max(chosen - 1, 0), Home: 0, End: last };
    if (!(event.key in places)) return;
    event.preventDefault();
    choose(places[event.key]);
  });
}

// ---- merges: the chosen word, up to the chosen step ---------------------------------------------
const word = document.getElementById("word");
if (word) {
  const step = document.getElementById("step");
  const said = document.getElementById("step-said");
  const articles = [...document.querySelectorAll(".word")];
  const show = () => {
    const shown = articles[word.value];
    for (const steps of shown.querySelectorAll(".steps")) {
      [...steps.children].forEach((row, place) => { row.hidden = place > step.value; });
      const result = steps.nextElementSibling;
      result.style.visibility = steps.children.length - 1 > step.value ? "hidden" : "visible";
    }
    said.textContent = `${step.value} of ${step.max}`;
  };
  const change = () => {
    articles.forEach((article, place) => { article.hidden = place !== Number(word.value); });
    const longest = Math.max(0, ...[...articles[word.value].querySelectorAll(".steps")].map((steps) => steps.children.length - 1));
    step.max = longest;
    step.value = longest;
    step.disabled = longest === 0;
    show();
  };
  document.querySelector(".chooser").hidden = false;
  word.addEventListener("change", change);
  step.addEventListener("input", show);
  change();
}
