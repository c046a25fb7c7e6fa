//! Conversations: the methods that `tokenmill.chat` implements.
//!
//! Templates run in Python: each method passes the tokenizer and its arguments to the function that implements it,
//! and returns the result.
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::Tokenizer;
use crate::buffer::objects;
use crate::late::{self, Late};

/// Calls a function of a module with these arguments.
pub(super) fn hand_over<'py, const N: usize>(
    (module, function): (&Late, &str),
    given: [&Bound<'py, PyAny>; N],
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = given[0].py();
    let given = objects::tuple(py, given.map(Clone::clone))?;
    module.get(py)?.getattr(function)?.call(given, options)
}

#[pymethods]
impl Tokenizer {
    /// The ids of all added tokens by literal, special or not, ascending by id.
    ///
    /// >>> tokenmill.train(texts=["low"] * 2, num_merges=1, special_tokens=["<|end|>"]).added_tokens
    /// {'<|end|>': 0}
    #[getter]
    fn added_tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tokens = PyDict::new(py);
        for token in self.engine.vocabulary().added() {
            tokens.set_item(&token.content, token.id)?;
        }
        Ok(tokens)
    }

    /// Where `tokenmill.chat` keeps its tables.
    #[getter]
    fn _chat_tables<'py>(&self, py: Python<'py>) -> Bound<'py, PyDict> {
        self.chat_tables.get_or_make(|| PyDict::new(py).unbind()).bind(py).clone()
    }

    /// A conversation as text, by a chat template: a `tokenmill.chat.RenderedChat`.
    ///
    /// `messages` is a list of mappings with `role` and mostly `content`. `template` is the name of one of
    /// `chat_templates`, or a source of its own; without it the one named `tool_use` serves where there are
    /// `tools`, else `default`. `tools` are schemas, or functions with type hints and a docstring;
    /// `documents` are mappings. `add_generation_prompt` begins an answer; `continue_final_message` ends
    /// where the last message ends (or the field of this name). `now` is the moment of `strftime_now`, the
    /// local time by default. Keys whose value is `None` are left out unless `keep_none` is set. `roles` are
    /// those that messages may have: by default system, developer, user, assistant, tool and those that the
    /// template compares with. All other arguments are variables of the template; what is nearly the name of
    /// an argument is a `TypeError`.
    ///
    /// The text is that of transformers 5.23. `segments` say what wrote each part of it, `untrusted` what the
    /// template did not write: `encode(untrusted=)` takes that.
    ///
    /// Raises `TemplateError` where the template is wrong, refuses the conversation, or takes too many steps,
    /// and for other roles; `MissingExtraError` without jinja2 (extra `chat`).
    ///
    /// >>> tok = tokenmill.train(texts=["low"] * 2, num_merges=1).with_chat_template("chatml")
    /// >>> chat = tok.render_chat([{"role": "user", "content": "low"}])
    /// >>> chat.text
    /// '<|im_start|>user\nlow<|im_end|>\n'
    /// >>> chat.untrusted
    /// ((17, 20),)
    #[pyo3(signature = (messages, **options), text_signature = "($self, messages, *, tools=None, documents=None, template=None, add_generation_prompt=False, continue_final_message=False, now=None, keep_none=False, roles=None, **variables)")]
    fn render_chat<'py>(
        slf: &Bound<'py, Self>,
        messages: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        hand_over((&late::CHAT_RENDERING, "render_for"), [slf, messages], options)
    }

    /// The ids of a conversation, and what a model trains on: a `tokenmill.chat.ChatEncoding`, or a list of them
    /// for a list of conversations, which then share `tools` and all else.
    ///
    /// It is a mapping with `input_ids` and `attention_mask`, and with `return_labels` also `labels` (the id
    /// where it is trained, -100 elsewhere, not shifted) and `loss_mask`; `pad_batch` takes it as a row. `text`,
    /// `offsets`, `segments`, `literals`, `turns`, `turns_without_end` and `unwritten` (fields that the template
    /// leaves out) are attributes. Rendering is as for `render_chat`, with the same arguments.
    ///
    /// No text of a message becomes a control token: a literal in it is text. `literals` says otherwise:
    /// `"reject"` refuses messages with control literals, `"parse"` takes them for the tokens, a function
    /// rewrites a string that has one (of tools, documents and variables, too), and a mapping from kinds of
    /// segments or roles to one of these chooses.
    ///
    /// `train_on` says which turns are trained, `"assistant"` by default: roles, indices of messages,
    /// `"last"`. It may also say which parts of them: kinds (`"content"`, `"reasoning"`, `"tool_call"`), field
    /// paths (`"tool_calls[0].function.arguments"`). A part is what the message says, without what the template
    /// writes around it. A turn begins after its header and ends with its
    /// end-of-turn token, which `end_of_turn=False` leaves out. Where the template marks the turns of a role
    /// with `{% generation %}` blocks, only what these write is trained: no end-of-turn token after them. `turns`
    /// say what the model writes, also where not all of it is trained. A token that is only partly in a
    /// trained range is trained as a whole. `num_threads` is for encoding a list.
    ///
    /// Raises `TemplateError` as `render_chat`, where the place of a turn is not known for certain, and where
    /// nothing is trained unless `allow_empty` is set; `SpecialTokenError` for `literals="reject"`; `TypeError`
    /// for `train_on` or `end_of_turn` without `return_labels`.
    ///
    /// >>> tok = tokenmill.train(texts=["low"] * 2, num_merges=2, special_tokens=["<|im_start|>", "<|im_end|>"])
    /// >>> chat = [{"role": "user", "content": "low"}, {"role": "assistant", "content": "lower"}]
    /// >>> encoding = tok.with_chat_template("chatml").apply_chat_template(chat, return_labels=True)
    /// >>> tok.decode([id for id in encoding["labels"] if id != -100])
    /// 'lower<|im_end|>'
    #[pyo3(signature = (messages, **options), text_signature = "($self, messages, *, tools=None, documents=None, template=None, add_generation_prompt=False, continue_final_message=False, now=None, keep_none=False, roles=None, literals='text', return_labels=False, train_on='assistant', end_of_turn=True, allow_empty=False, num_threads=1, **variables)")]
    fn apply_chat_template<'py>(
        slf: &Bound<'py, Self>,
        messages: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        hand_over((&late::CHAT_ENCODING, "apply"), [slf, messages], options)
    }

    /// Ids that a model wrote, kept as they are, and the ids of new messages after them: a `ChatEncoding`.
    ///
    /// There are no labels. `ids` stand for `messages` rendered by the same template; `new` are the messages
    /// that follow. The text
    /// is that of all messages rendered anew. `seam` says how what is new was encoded: `"canonical"`, the
    /// ids are those of the whole text; `"border"`, those after `ids` are, too; `"alone"`, a token of the
    /// whole text would span the seam, so that what is new was encoded without what stands before. `kept` is
    /// the number of `ids`. Other arguments are as for `apply_chat_template`.
    ///
    /// Raises `TemplateError`, naming the turn, where the template writes the earlier messages otherwise than
    /// `ids` say; `on_rewrite="keep"` keeps them and adds what is new.
    ///
    /// >>> tok = tokenmill.train(texts=["low"] * 2, num_merges=2, special_tokens=["<|im_start|>", "<|im_end|>"])
    /// >>> tok, chat = tok.with_chat_template("chatml"), [{"role": "user", "content": "low"}]
    /// >>> prompt = tok.apply_chat_template(chat, add_generation_prompt=True)["input_ids"]
    /// >>> answer = [tok.token_to_id("l"), tok.token_to_id("o"), tok.token_to_id("w"), 1]
    /// >>> chat.append({"role": "assistant", "content": "low"})
    /// >>> more = tok.extend_chat([*prompt, *answer], chat, [{"role": "user", "content": "low"}])
    /// >>> more.seam, more["input_ids"][: more.kept] == [*prompt, *answer]
    /// ('border', True)
    #[pyo3(signature = (ids, messages, new, **options), text_signature = "($self, ids, messages, new, *, tools=None, documents=None, template=None, add_generation_prompt=True, on_rewrite='error', now=None, keep_none=False, roles=None, literals='text', **variables)")]
    fn extend_chat<'py>(
        slf: &Bound<'py, Self>,
        ids: &Bound<'py, PyAny>,
        messages: &Bound<'py, PyAny>,
        new: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        hand_over((&late::CHAT_EXTENDING, "extend"), [slf, ids, messages, new], options)
    }

    /// Whether these ids are those that their text has when it is encoded: `first_drift` is `None`.
    ///
    /// >>> tok = tokenmill.train(texts=["low"] * 2, num_merges=2)
    /// >>> tok.is_canonical(tok.encode("low")), tok.is_canonical([*b"low"])
    /// (True, False)
    fn is_canonical<'py>(slf: &Bound<'py, Self>, ids: &Bound<'py, PyAny>) -> PyResult<bool> {
        Ok(Self::first_drift(slf, ids)?.is_none())
    }

    /// The index of the first id that is another one when the text of the ids is encoded; `None` where there
    /// is none. Added tokens are kept for what they are, and the text between them stays text.
    ///
    /// >>> tok = tokenmill.train(texts=["low"] * 2, num_merges=2)
    /// >>> tok.first_drift([*tok.encode("low"), *b"low"])
    /// 1
    fn first_drift<'py>(slf: &Bound<'py, Self>, ids: &Bound<'py, PyAny>) -> PyResult<Option<usize>> {
        hand_over((&late::CHAT_EXTENDING, "first_drift"), [slf, ids], None)?.extract()
    }

    /// How many ids a conversation has: `len(apply_chat_template(...)["input_ids"])`, without making them.
    ///
    /// Arguments are as for `apply_chat_template`.
    ///
    /// >>> tok = tokenmill.train(texts=["low"] * 2, num_merges=2, special_tokens=["<|im_start|>", "<|im_end|>"])
    /// >>> tok.with_chat_template("chatml").count_chat([{"role": "user", "content": "low"}])
    /// 9
    #[pyo3(signature = (messages, **options), text_signature = "($self, messages, *, tools=None, documents=None, template=None, add_generation_prompt=False, continue_final_message=False, now=None, keep_none=False, roles=None, literals='text', **variables)")]
    fn count_chat<'py>(
        slf: &Bound<'py, Self>,
        messages: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<usize> {
        hand_over((&late::CHAT_COUNTING, "count"), [slf, messages], options)?.extract()
    }

    /// The messages of a conversation without its oldest turns, so that it has at most `n` ids.
    ///
    /// A turn is a user's message with the answers after it; tool results go with their calls, and no
    /// message is cut. `keep` says what is never dropped: roles, indices of messages, and `"last"`, the
    /// last turn. Other arguments are as for `count_chat`.
    ///
    /// Raises `BudgetError` where what is kept has more than `n` ids.
    ///
    /// >>> tok = tokenmill.train(texts=["low"] * 2, num_merges=2).with_chat_template("chatml")
    /// >>> chat = [{"role": role, "content": "low"} for role in ("user", "assistant") * 2]
    /// >>> len(tok.fit_chat(chat, tok.count_chat(chat) - 1))
    /// 2
    #[pyo3(signature = (messages, n, **options), text_signature = "($self, messages, n, *, keep=('system', 'last'), tools=None, documents=None, template=None, add_generation_prompt=False, now=None, keep_none=False, roles=None, literals='text', **variables)")]
    fn fit_chat<'py>(
        slf: &Bound<'py, Self>,
        messages: &Bound<'py, PyAny>,
        n: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        hand_over((&late::CHAT_COUNTING, "fit"), [slf, messages, n], options)
    }

    /// What a model's embedding matrix of `rows` rows needs for this tokenizer: an `EmbeddingPlan`.
    ///
    /// It has the rows to resize to (a multiple of `multiple_of`), the tokens without a row and the ids whose
    /// mean is a good beginning for each, the rows that no token has, and the padding; print it, or take
    /// `to_dict()`. `tied` says that the output matrix is the input matrix. `id_map` is that of a `Surgery` which
    /// made this tokenizer, with the new id of each old one: the matrix is that of the old tokenizer then, and
    /// `moved(matrix)` puts each row where its token is now.
    ///
    /// >>> tok = tokenmill.train(texts=["low"] * 2, num_merges=2, special_tokens=["<|end|>"])
    /// >>> plan = tok.embedding_plan(258)
    /// >>> plan.fits, plan.new_rows, [row.token for row in plan.new]
    /// (False, 320, ['low'])
    #[pyo3(signature = (rows, *, tied = false, multiple_of = None, id_map = None), text_signature = "($self, rows, *, tied=False, multiple_of=64, id_map=None)")]
    fn embedding_plan<'py>(
        slf: &Bound<'py, Self>,
        rows: &Bound<'py, PyAny>,
        tied: bool,
        multiple_of: Option<&Bound<'py, PyAny>>,
        id_map: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = PyDict::new(slf.py());
        options.set_item("tied", tied)?;
        options.set_item("id_map", id_map)?;
        if let Some(multiple_of) = multiple_of {
            options.set_item("multiple_of", multiple_of)?;
        }
        hand_over((&late::EMBEDDING_PLAN, "plan"), [slf, rows], Some(&options))
    }

    /// A key for a cache of encodings: `tmk1-` and 64 hexadecimal digits. It changes with everything that can
    /// change the ids, masks or labels, and is the same in every process and on every machine.
    ///
    /// `text_or_messages` is what is encoded: a text, a list of texts, or messages. `call` names the method
    /// with whose `options` it is (`"encode"`, `"call"` for `tok(...)`, `"apply_chat_template"`): by default
    /// `apply_chat_template` for messages, else `encode`. Options that change no result, such as
    /// `num_threads`, change no key.
    ///
    /// A function in `literals=` counts by its module and name, not by what it does: give it another name when
    /// you change it. Raises `TypeError` for options that the call does not take, for values of which no
    /// lasting key can be made (a lambda, a partial, an object), and for a template that writes the date where
    /// `now=` is not given.
    ///
    /// >>> tok = tokenmill.train(texts=["low"] * 2, num_merges=1)
    /// >>> tok.cache_key("low") == tok.cache_key("low", num_threads=4)
    /// True
    /// >>> tok.cache_key("low") == tok.cache_key("low", special="parse")
    /// False
    #[pyo3(signature = (text_or_messages, **options), text_signature = "($self, text_or_messages, *, call=None, **options)")]
    fn cache_key<'py>(
        slf: &Bound<'py, Self>,
        text_or_messages: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        hand_over((&late::CACHE_KEY, "cache_key"), [slf, text_or_messages], options)
    }
}
