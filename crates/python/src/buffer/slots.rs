//! Documentation of special methods, which Python takes from its own tables.
use std::ffi::CStr;
use std::ptr::{self, addr_of_mut};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;
use tokenmill_core::error::Error;

use crate::exceptions::raise;

/// Gives a special method a text of its own: `name($self, ...)`, a line `--`, an empty line, the documentation.
/// The first line is the signature. Only what `help` and `inspect` read changes, not how the method is called. Cython
/// does the same for its classes.
///
/// For the initialisation of the module: no other thread may use the class.
pub(crate) fn document(class: &Bound<'_, PyType>, name: &str, text: &'static CStr) -> PyResult<()> {
    let method = class.getattr(name)?;
    if !ptr::eq(method.get_type_ptr(), addr_of_mut!(ffi::PyWrapperDescr_Type)) {
        return Err(raise(class.py(), Error::internal(format!("{name} is no method of a slot"))));
    }
    let method = method.as_ptr().cast::<ffi::PyWrapperDescrObject>();
    // SAFETY: objects of this type have this layout. The table that `d_base` points to belongs to Python and is only
    // copied; the copy lives as long as the process, like the text. Nobody reads `d_base` meanwhile.
    unsafe {
        let own = Box::leak(Box::new(ptr::read((*method).d_base)));
        own.doc = text.as_ptr();
        (*method).d_base = own;
    }
    Ok(())
}
