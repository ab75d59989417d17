//! Resources: the outputs of runs, each at `ratoon://NOTEBOOK/runs/RUN/outputs/N`.

use super::message::RpcError;
use super::text::{cut, picture, plain};
use crate::formats::text_of;
use crate::http::app_state::AppState;
use crate::http::auth::Access;
use crate::http::percent::segments;
use crate::notebook::{ExecId, Output};
use actix_web::web;
use serde_json::{Value, json};

/// Maximum length of one text of a resource, in characters. The page and the REST API have all.
const MAX_RESOURCE_CHARS: usize = 1_000_000;

/// The template of these addresses.
pub(super) fn templates() -> Value {
    let template = json!({"uriTemplate": "ratoon://{notebook}/runs/{run}/outputs/{number}",
        "name": "output", "description": "One output of a run, whole"});
    json!([template])
}

/// The parts of an address: notebook, run, number of the output.
fn parse(uri: &str) -> Option<(String, ExecId, usize)> {
    let parts = segments(&format!("/{}", uri.strip_prefix("ratoon://")?))?;
    match parts.as_slice() {
        [notebook, runs, run, outputs, number] if runs == "runs" && outputs == "outputs" => {
            Some((notebook.clone(), ExecId::new(run), number.parse().ok()?))
        }
        _ => None,
    }
}

/// The content of a resource, in each of its representations.
///
/// # Errors
/// When the address is wrong, or names nothing that the caller may see.
pub(super) async fn read(app: &web::Data<AppState>, access: &Access, uri: &str) -> Result<Value, RpcError> {
    let none = || RpcError::invalid_params(format!("there is no resource {uri:?}"));
    let (notebook, run, number) = parse(uri).ok_or_else(none)?;
    if !access.opens(&notebook) {
        return Err(none());
    }
    let session = AppState::notebook(app, &notebook).await?;
    let item = session.read(move |notebook| notebook.run(&run)?.outputs.items().get(number).cloned()).await?;
    let text =
        |mime: &str, text: &str| json!({"uri": uri, "mimeType": mime, "text": cut(text, MAX_RESOURCE_CHARS)});
    let contents = match item.ok_or_else(none)? {
        Output::Stream { text: printed, .. } => vec![text("text/plain", &printed)],
        Output::Error(error) if error.traceback.is_empty() => vec![text("text/plain", &error.in_words())],
        Output::Error(error) => vec![text("text/plain", &plain(&error.traceback.join("\n")))],
        Output::DisplayData { data, .. } | Output::ExecuteResult { data, .. } => {
            let image = picture(&data);
            let blob =
                image.iter().map(|(mime, base64)| json!({"uri": uri, "mimeType": mime, "blob": base64}));
            let others = data.iter().filter(|(mime, _)| image.as_ref().is_none_or(|(own, _)| own != mime));
            let others = others.map(|(mime, value)| text(mime, &text_of(value)));
            blob.chain(others).collect()
        }
    };
    Ok(json!({"contents": contents}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::mcp::text::output_uri;

    #[test]
    fn an_address_is_read_as_it_was_written() {
        let run = ExecId::new("a b/c");
        let uri = output_uri("my notes", &run, 7);
        assert_eq!(uri, "ratoon://my%20notes/runs/a%20b%2Fc/outputs/7");
        assert_eq!(parse(&uri), Some(("my notes".into(), run, 7)));
        for bad in [
            "",
            "ratoon://",
            "ratoon://main/runs/a/outputs/x",
            "file:///etc/passwd",
            "ratoon://m/../x/outputs/1",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
