//! What the API's refusals mean.

use ballast_core::foreign::discreet;
use ballast_core::observation::{ErrorClass, SourceError};
use ballast_core::procedure::Reply;

/// Bytes of what the API says: enough for who may not do what, and where.
const WORDS_MAX: usize = 300;

/// The class of a status code.
fn class_of(code: u16) -> ErrorClass {
    match code {
        401 | 403 => ErrorClass::Auth,
        404 => ErrorClass::NotFound,
        409 => ErrorClass::Conflict,
        429 => ErrorClass::Throttled,
        400 | 405 | 406 | 413 | 415 | 422 => ErrorClass::Invalid,
        _ => ErrorClass::Transient,
    }
}

/// An error of the client, classed. Its words may be those of a webhook: they are told as far as it is safe.
pub(super) fn classed(error: &kube::Error) -> SourceError {
    let (class, message) = match error {
        kube::Error::Api(status) => (class_of(status.code), status.message.clone()),
        kube::Error::Auth(error) => (ErrorClass::Auth, error.to_string()),
        other => (ErrorClass::Transient, chain(other)),
    };
    SourceError { class, message: discreet(&message, WORDS_MAX) }
}

/// An object that the manifest makes is not there.
pub(super) fn not_installed(kind: &str, name: &str) -> SourceError {
    let message = format!("there is no {kind} `{name}`: install it with the chart or deploy/manifest.yaml");
    SourceError { class: ErrorClass::NotFound, message }
}

/// The reply to a request that failed. Where the API itself did not answer, it may have been applied.
pub(super) fn reply(error: &kube::Error) -> Reply {
    match error {
        kube::Error::Api(status) if !matches!(status.code, 500 | 504) => Reply::Failed(classed(error)),
        kube::Error::Auth(_) => Reply::Failed(classed(error)),
        _ => Reply::TimedOut,
    }
}

/// Whether the API no longer knows the version that a watch was to go on from.
pub(super) fn is_gone(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 410)
}

/// An error with its causes: the outermost alone says little of a connection.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let told = inner.to_string();
        if !text.contains(&told) {
            text = format!("{text}: {told}");
        }
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn the_words_of_a_webhook_are_bounded_and_tell_no_secret() {
        let refused = |message: &str| {
            let status = Status::failure(message, "Forbidden").with_code(403);
            classed(&kube::Error::Api(status.boxed()))
        };
        let denied = r#"nodes "n1" is forbidden: User "system:serviceaccount:ballast:ballast" cannot patch resource "nodes""#;
        assert_eq!(refused(denied).message, denied);
        assert_eq!(refused(denied).class, ErrorClass::Auth);
        let webhook = "admission webhook denied the request: \u{1b}[31mheader Authorization: Bearer hunter2";
        assert_eq!(refused(webhook).message, "admission webhook denied the request: \\u{1b}[31mheader …");
        assert!(refused(&"long ".repeat(1000)).message.len() <= WORDS_MAX + '…'.len_utf8());
    }
}
