//! The fenced blocks of a page.

use anyhow::{Context, Result, bail};

/// A fenced block.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Fence<'a> {
    /// The first word after the fence.
    pub(super) language: &'a str,
    /// The line of the page on which the content begins, counted from 0.
    pub(super) start: usize,
    /// The lines between the fences.
    pub(super) lines: Vec<&'a str>,
    /// What the words after the language ask for.
    pub(super) asks: Asks<'a>,
}

/// What a fence asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Asks<'a> {
    /// Write the content to this file.
    pub(super) file: Option<&'a str>,
    /// Interrupt each command after so many seconds.
    pub(super) stop_after: Option<u64>,
    /// Leave it out where this component is missing.
    pub(super) needs: Option<&'a str>,
    /// Leave it out, for this reason.
    pub(super) not_run: Option<&'a str>,
}

/// Finds every fence of a page.
pub(super) fn find(text: &str) -> Result<Vec<Fence<'_>>> {
    let mut fences = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let (language, rest) = info.split_once(' ').unwrap_or((info, ""));
        let asks = Asks::parse(rest).with_context(|| format!("line {}", number + 1))?;
        let mut fence = Fence { language, start: number + 1, lines: Vec::new(), asks };
        loop {
            match lines.next() {
                Some((_, "```")) => break,
                Some((_, line)) => fence.lines.push(line),
                None => bail!("line {}: the fence is never closed", number + 1),
            }
        }
        fences.push(fence);
    }
    Ok(fences)
}

impl<'a> Asks<'a> {
    fn parse(mut rest: &'a str) -> Result<Self> {
        let mut asks = Self::default();
        while let Some((key, after)) = rest.trim_start().split_once('=') {
            let (value, left) = match after.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').context("a quote is never closed")?,
                None => after.split_once(' ').unwrap_or((after, "")),
            };
            rest = left;
            match key {
                "file" => asks.file = Some(value),
                "stop-after" => asks.stop_after = Some(seconds(value)?),
                "needs" => asks.needs = Some(value),
                "not-run" => asks.not_run = Some(value),
                _ => bail!("a fence knows file, stop-after, needs and not-run, but not `{key}`"),
            }
        }
        match rest.trim() {
            "" => Ok(asks),
            word => bail!("`{word}` after the language of a fence has no meaning here"),
        }
    }
}

fn seconds(value: &str) -> Result<u64> {
    let number = value.strip_suffix('s').and_then(|number| number.parse().ok());
    number.with_context(|| format!("`{value}` is no number of seconds such as 5s"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_fences_with_what_they_ask() {
        let text = "# T\n```yaml file=a.yaml\nx: 1\n```\ntext\n```console stop-after=5s not-run=\"needs a cluster\"\n$ a\n```\n";
        let fences = find(text).expect("good fences");
        assert_eq!(fences[0].asks.file, Some("a.yaml"));
        assert_eq!((fences[0].language, fences[0].start, &fences[0].lines[..]), ("yaml", 2, &["x: 1"][..]));
        let asks = Asks { stop_after: Some(5), not_run: Some("needs a cluster"), ..Asks::default() };
        assert_eq!(fences[1].asks, asks);
    }

    #[test]
    fn refuses_what_it_does_not_know() {
        for bad in ["```sh what\n```\n", "```sh a=b\n```\n", "```sh stop-after=soon\n```\n", "```sh\n"] {
            assert!(find(bad).is_err(), "{bad}");
        }
    }
}
