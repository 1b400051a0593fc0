//! Segments: the files of a record in a folder, each complete in itself, bounded in size and number.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ballast_core::record::Entry;

use crate::cli::Result;
use crate::present::Doing;

/// Where segments are kept, and how much of them.
#[derive(Clone, Debug)]
pub struct Folder {
    /// The folder.
    pub path: PathBuf,
    /// MiB after which a new segment begins.
    pub size: u64,
    /// Segments that are kept.
    pub keep: u64,
}

impl Folder {
    /// Begins the next segment; the oldest beyond those that are kept go.
    pub fn begin(&self) -> Result<Keeper> {
        fs::create_dir_all(&self.path).doing(|| format!("cannot make {}", self.path.display()))?;
        let segment = Segment::begin(&self.path)?;
        forget(&self.path, self.keep)?;
        Ok(Keeper { segment, fill: Fill { size: self.size << 20, written: 0, start: None } })
    }
}

/// Keeps entries in a segment.
pub struct Keeper {
    segment: Segment,
    fill: Fill,
}

impl Keeper {
    /// Keeps entries, of which a plan may be one; whether the segment is full.
    pub fn keep(&mut self, entries: &[Entry], has_planned: bool) -> Result<bool> {
        let bytes = self.segment.write(entries)?;
        Ok(self.fill.takes(bytes, has_planned))
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.segment.path
    }
}

/// The number of a segment, by its name; a file of another name is somebody else's.
fn number(path: &Path) -> Option<u32> {
    let digits = path.file_name()?.to_str()?.strip_prefix("ballast-")?.strip_suffix(".jsonl")?;
    if digits.len() == 8 { digits.parse().ok() } else { None }
}

/// The segments of a folder, in the order of their names.
pub fn segments(folder: &Path) -> Result<Vec<PathBuf>> {
    let doing = || format!("cannot list {}", folder.display());
    let entries: std::io::Result<Vec<_>> = fs::read_dir(folder).doing(doing)?.collect();
    let paths = entries.doing(doing)?.into_iter().map(|entry| entry.path());
    let mut segments: Vec<PathBuf> = paths.filter(|path| number(path).is_some()).collect();
    segments.sort();
    Ok(segments)
}

/// Removes the oldest segments beyond those that are kept.
fn forget(folder: &Path, keep: u64) -> Result<()> {
    let segments = segments(folder)?;
    let many = segments.len().saturating_sub(usize::try_from(keep).unwrap_or(usize::MAX));
    for path in &segments[..many] {
        fs::remove_file(path).doing(|| format!("cannot remove {}", path.display()))?;
    }
    Ok(())
}

/// A file of entries.
struct Segment {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Segment {
    /// The next of a folder, for the eyes of its owner alone.
    fn begin(folder: &Path) -> Result<Self> {
        let last = segments(folder)?.iter().filter_map(|path| number(path)).max().unwrap_or(0);
        let path = folder.join(format!("ballast-{:08}.jsonl", last + 1));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let file = BufWriter::new(file.doing(|| format!("cannot make {}", path.display()))?);
        Ok(Self { path, file })
    }

    /// Appends entries, for good; how many bytes they are.
    fn write(&mut self, entries: &[Entry]) -> Result<u64> {
        let mut bytes = 0;
        let doing = || format!("cannot write {}", self.path.display());
        for entry in entries {
            let line = entry.to_line() + "\n";
            bytes += line.len() as u64;
            self.file.write_all(line.as_bytes()).doing(doing)?;
        }
        if bytes > 0 {
            self.file.flush().doing(doing)?;
        }
        Ok(bytes)
    }
}

/// How full a segment is. Each begins with complete lists: one that ended before it held as much again would be followed by
/// lists, and those by lists, and the cluster would be read over and over.
struct Fill {
    size: u64,
    written: u64,
    /// What was written up to the first plan.
    start: Option<u64>,
}

impl Fill {
    /// Takes so many bytes more; whether that is enough.
    fn takes(&mut self, bytes: u64, has_planned: bool) -> bool {
        self.written += bytes;
        if has_planned && self.start.is_none() {
            self.start = Some(self.written);
        }
        self.start.is_some_and(|start| self.written >= self.size.max(2 * start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_holds_more_than_the_lists_that_it_begins_with() {
        let mut fill = Fill { size: 100, written: 0, start: None };
        assert!(!fill.takes(500, false), "nothing was planned yet");
        assert!(!fill.takes(100, true) && !fill.takes(599, true));
        assert!(fill.takes(1, false));
        let mut small = Fill { size: 100, written: 0, start: None };
        assert!(!small.takes(10, true) && !small.takes(89, true));
        assert!(small.takes(1, true));
    }

    #[test]
    fn only_segments_are_ever_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let segment = |number: u32| format!("ballast-{number:08}.jsonl");
        let strangers = ["a-dataset.jsonl", "ballast-1.jsonl", "ballast-notes.jsonl"].map(str::to_owned);
        for name in strangers.iter().cloned().chain((1..4).map(segment)) {
            fs::write(folder.path().join(name), "").expect("it can be written");
        }
        let path = folder.path().to_owned();
        let begun = Folder { path, size: 1, keep: 2 }.begin().expect("it can be begun");
        assert_eq!(begun.path(), folder.path().join(segment(4)));
        let left = fs::read_dir(folder.path()).expect("it is there");
        let mut left: Vec<String> =
            left.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        left.sort();
        let kept = [&strangers[0], &segment(3), &segment(4), &strangers[1], &strangers[2]];
        assert_eq!(left, kept.map(String::as_str));
    }
}
