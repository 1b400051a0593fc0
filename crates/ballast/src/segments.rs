//! Segments: the files of a record in a folder, each complete in itself, bounded in size and number.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Read, Write};
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
    /// Begins the next segment, beside those that are kept: none goes for one that may come to nothing.
    pub fn begin(&self) -> Result<Keeper> {
        self.make()?;
        forget(&self.path, self.keep)?;
        let segment = Segment::begin(&self.path)?;
        let fill = Fill { size: self.size(), written: 0, start: None };
        Ok(Keeper { segment, fill, folder: self.clone() })
    }

    /// Tries whether so much can be written as a segment holds, or `least` bytes where that is more. The file has no name, so that
    /// nothing is ever left of it.
    pub fn has_room(&self, least: u64) -> Result<()> {
        self.make()?;
        let path = self.path.join("room-for-a-segment");
        let doing = || format!("cannot write {}", path.display());
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path)
            .doing(doing)?;
        fs::remove_file(&path).doing(|| format!("cannot remove {}", path.display()))?;
        std::io::copy(&mut std::io::repeat(b'\n').take(self.size().max(least)), &mut file).doing(doing)?;
        file.sync_all().doing(doing)
    }

    fn make(&self) -> Result<()> {
        fs::create_dir_all(&self.path).doing(|| format!("cannot make {}", self.path.display()))
    }

    /// Bytes after which a segment is full.
    fn size(&self) -> u64 {
        self.size << 20
    }
}

/// Keeps entries in a segment.
pub struct Keeper {
    segment: Segment,
    fill: Fill,
    folder: Folder,
}

impl Keeper {
    /// Keeps entries, of which a plan may be one; whether the segment is full. With its first plan it can be replayed: then the
    /// oldest beyond those that are kept go. One that cannot be written before that is of no use, and goes itself.
    pub fn keep(&mut self, entries: &[Entry], has_planned: bool) -> Result<bool> {
        let had_planned = self.fill.start.is_some();
        let written = self.segment.write(entries);
        if written.is_err() && !had_planned {
            // What cannot be removed either was told of already.
            let _ = fs::remove_file(&self.segment.path);
        }
        let is_full = self.fill.takes(written?, has_planned);
        if has_planned && !had_planned {
            forget(&self.folder.path, self.folder.keep)?;
        }
        Ok(is_full)
    }

    /// Bytes that were written.
    pub fn written(&self) -> u64 {
        self.fill.written
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
    use ballast_core::record::Body;
    use ballast_core::units::Time;

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

    fn segment(number: u32) -> String {
        format!("ballast-{number:08}.jsonl")
    }

    /// A folder of which two segments are kept, with these files.
    fn folder(names: &[String]) -> (tempfile::TempDir, Folder) {
        let place = tempfile::tempdir().expect("a folder");
        for name in names {
            fs::write(place.path().join(name), "").expect("it can be written");
        }
        let folder = Folder { path: place.path().to_owned(), size: 1, keep: 2 };
        (place, folder)
    }

    fn left(folder: &Folder) -> Vec<String> {
        let left = fs::read_dir(&folder.path).expect("it is there");
        let mut left: Vec<String> =
            left.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        left.sort();
        left
    }

    #[test]
    fn only_segments_are_ever_removed_and_only_for_one_with_a_plan() {
        let strangers = ["a-dataset.jsonl", "ballast-1.jsonl", "ballast-notes.jsonl"].map(str::to_owned);
        let names: Vec<String> = strangers.iter().cloned().chain((1..4).map(segment)).collect();
        let (_place, folder) = folder(&names);
        let mut begun = folder.begin().expect("it can be begun");
        assert_eq!(begun.path(), folder.path.join(segment(4)));
        let kept = [&strangers[0], &segment(2), &segment(3), &segment(4), &strangers[1], &strangers[2]];
        assert_eq!(left(&folder), kept.map(String::as_str), "it may come to nothing");
        assert!(begun.keep(&[], false).is_ok() && left(&folder).contains(&segment(2)));
        assert!(begun.keep(&[], true).is_ok());
        let kept = [&strangers[0], &segment(3), &segment(4), &strangers[1], &strangers[2]];
        assert_eq!(left(&folder), kept.map(String::as_str));
    }

    #[test]
    fn a_segment_that_cannot_be_begun_goes_and_takes_no_other_with_it() {
        let full = || BufWriter::new(OpenOptions::new().write(true).open("/dev/full").expect("a full disk"));
        let entries = [Entry { seq: 1, at: Time::ZERO, body: Body::Followed }];
        let (_place, folder) = folder(&[segment(1), segment(2)]);
        for _ in 0..3 {
            let mut begun = folder.begin().expect("it can be begun");
            begun.segment.file = full();
            assert!(begun.keep(&entries, true).is_err());
            assert_eq!(left(&folder), [segment(1), segment(2)]);
        }
        let mut begun = folder.begin().expect("it can be begun");
        assert!(begun.keep(&entries, true).is_ok_and(|is_full| !is_full));
        begun.segment.file = full();
        assert!(begun.keep(&entries, false).is_err());
        assert_eq!(left(&folder), [segment(2), segment(3)], "what led there is kept");
    }

    #[test]
    fn room_is_tried_and_nothing_is_left_of_it() {
        let (place, folder) = folder(&[segment(1)]);
        assert!(folder.has_room(2 << 20).is_ok());
        assert_eq!(left(&folder), [segment(1)]);
        let nowhere = Folder { path: place.path().join(segment(1)), ..folder };
        assert!(nowhere.has_room(0).is_err(), "a file is no folder");
    }
}
