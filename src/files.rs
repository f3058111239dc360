//! Files in a directory that other users may be able to write: nothing here follows a symbolic
//! link, a file appears whole or not at all, and only regular files are read. Knows no formats.

use std::ffi::OsStr;
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};

use crate::error::{Error, Result};

/// How the name of a temporary file ends.
const PART: &str = ".part";
/// Hexadecimal digits that make the name of a temporary file unpredictable.
const RANDOM_DIGITS: usize = 16;

/// An open directory: operations stay in it even if its path is replaced meanwhile.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    handle: OwnedFd,
    private: bool,
}

impl Directory {
    /// Opens a directory that the user named.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
        Ok(Self { path: path.to_path_buf(), handle, private: false })
    }

    /// Makes new files and directories readable by their owner only.
    pub fn private(self) -> Self {
        Self { private: true, ..self }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn mode(&self, permissions: u32) -> Mode {
        Mode::from_raw_mode(if self.private { permissions & 0o700 } else { permissions })
    }

    /// A directory inside, made if it is missing; a link to a directory elsewhere is refused.
    pub fn subdirectory(&self, name: &str) -> io::Result<Self> {
        match rustix::fs::mkdirat(&self.handle, name, self.mode(0o777)) {
            Ok(()) => self.sync()?,
            Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        self.open_subdirectory(name)
    }

    /// A directory inside; a link to a directory elsewhere is refused.
    pub fn open_subdirectory(&self, name: &str) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle =
            rustix::fs::openat(&self.handle, name, flags, Mode::empty()).map_err(|error| {
                use rustix::io::Errno;
                match error {
                    Errno::LOOP | Errno::NOTDIR => io::Error::new(
                        io::ErrorKind::NotADirectory,
                        "it must be a directory of its own, not a link or a file",
                    ),
                    other => other.into(),
                }
            })?;
        Ok(Self { path: self.path.join(name), handle, private: self.private })
    }

    /// A file that did not exist before.
    pub fn create_new(&self, name: &str) -> io::Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.handle, name, flags, self.mode(0o666))?.into())
    }

    /// Creates a file under a fresh temporary name; [`NewFile::commit`] renames it.
    pub fn new_file(&self, name: &str) -> io::Result<NewFile<'_>> {
        loop {
            let temporary = format!(".{name}.{:016x}{PART}", random());
            match self.create_new(&temporary) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => {
                    let file = created?;
                    let name = name.to_owned();
                    return Ok(NewFile {
                        directory: self,
                        file,
                        temporary,
                        name,
                        committed: false,
                    });
                }
            }
        }
    }

    /// Writes a file whole or not at all.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let write = || {
            let mut file = self.new_file(name)?;
            file.write_all(bytes)?;
            file.commit()
        };
        write().map_err(|error| unwritable(&self.path.join(name), &error))
    }

    /// Deletes a file; returns whether it existed.
    pub fn remove(&self, name: &str) -> io::Result<bool> {
        match rustix::fs::unlinkat(&self.handle, name, AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Deletes a directory inside, if it is empty.
    pub fn remove_empty_subdirectory(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.handle, name, AtFlags::REMOVEDIR)?)
    }

    /// Deletes temporary files with our names that killed processes left behind.
    pub fn remove_leftovers(&self, ours: impl Fn(&str) -> bool) -> io::Result<()> {
        for entry in Dir::read_from(&self.handle)? {
            let entry = entry?;
            let Some(temporary) = entry.file_name().to_str().ok() else { continue };
            if temporary_of(temporary).is_some_and(&ours) {
                self.remove(temporary)?;
            }
        }
        Ok(())
    }

    /// Waits until no other process holds this lock; `None` on a disk without locks.
    pub fn lock(&self, name: &str) -> io::Result<Option<Lock<'_>>> {
        loop {
            let file = self.open_lock(name)?;
            match file.lock() {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return Ok(None),
            }
            // The previous holder may have deleted it: then it locks nothing.
            if self.is_named(name, &file)? {
                return Ok(Some(Lock { directory: self, name: name.to_owned(), _file: file }));
            }
        }
    }

    /// A regular file used as a lock, created if missing, never truncated.
    pub fn open_lock(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mode = self.mode(0o666);
        let open = |flags| rustix::fs::openat(&self.handle, name, flags, mode);
        let opened = match open(flags | OFlags::RDWR | OFlags::CREATE) {
            // Created by another user: it can still be locked.
            Err(denied @ rustix::io::Errno::ACCESS) => {
                open(flags | OFlags::RDONLY).map_err(|_| denied)
            }
            other => other,
        };
        match opened {
            Err(rustix::io::Errno::LOOP) => {
                refuse_irregular(FileType::Symlink).map(|()| unreachable!())
            }
            other => regular(other?.into()),
        }
    }

    fn is_named(&self, name: &str, file: &File) -> io::Result<bool> {
        match rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => {
                let open = file.metadata()?;
                Ok((stat.st_dev, stat.st_ino) == (open.dev(), open.ino()))
            }
            Err(rustix::io::Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Syncs the directory, and so the names of its files.
    pub fn sync(&self) -> io::Result<()> {
        match rustix::fs::fsync(&self.handle) {
            // Some network disks do not support it.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOTSUP | rustix::io::Errno::BADF) => {
                Ok(())
            }
            other => Ok(other?),
        }
    }
}

/// A file under a temporary name; deleted if it is not committed.
#[derive(Debug)]
pub struct NewFile<'a> {
    directory: &'a Directory,
    file: File,
    temporary: String,
    name: String,
    committed: bool,
}

impl NewFile<'_> {
    /// Renames the file once its bytes are on the disk, replacing any file of that name. The name
    /// itself is safe once the directory is synced: once for many files.
    pub fn commit(mut self) -> io::Result<()> {
        self.file.sync_data()?;
        let handle = &self.directory.handle;
        rustix::fs::renameat(handle, &self.temporary, handle, &self.name)?;
        self.committed = true;
        Ok(())
    }
}

impl Write for NewFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for NewFile<'_> {
    fn drop(&mut self) {
        if !self.committed {
            // Failing to delete the half-written file is not worth a second error.
            let _ = self.directory.remove(&self.temporary);
        }
    }
}

/// A held lock; dropping it deletes its file.
#[derive(Debug)]
pub struct Lock<'a> {
    directory: &'a Directory,
    name: String,
    _file: File,
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        // If the file stays, the next process locks it again.
        let _ = self.directory.remove(&self.name);
    }
}

/// Writes a file of a directory whole or not at all.
pub fn write_whole(directory: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let failed = |error: io::Error| unwritable(&directory.join(name), &error);
    let opened = Directory::open(directory).map_err(failed)?;
    opened.write(name, bytes)?;
    opened.sync().map_err(failed)
}

/// The error for a file that cannot be written.
pub fn unwritable(path: &Path, error: &io::Error) -> Error {
    Error::output(format!("cannot write: {error}"))
        .file(path)
        .remedy("free some space, or choose another directory with --out")
}

/// Opens a regular file for reading; links, devices and pipes are refused unopened.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let kind = std::fs::symlink_metadata(path)?.mode();
    refuse_irregular(FileType::from_raw_mode(kind))?;
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    regular(std::fs::OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)?)
}

/// The first bytes of a regular file, at most this many.
pub fn read_start(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Device and inode of a file, following links: equal values mean the same file.
pub fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|data| (data.dev(), data.ino()))
}

/// The final name of a temporary file.
fn temporary_of(name: &str) -> Option<&str> {
    let (name, random) = name.strip_prefix('.')?.strip_suffix(PART)?.rsplit_once('.')?;
    let fresh =
        random.len() == RANDOM_DIGITS && random.bytes().all(|byte| byte.is_ascii_hexdigit());
    fresh.then_some(name)
}

/// Whether a file is a temporary one that a killed process left behind.
pub fn is_leftover(name: &OsStr, ours: impl Fn(&str) -> bool) -> bool {
    name.to_str().and_then(temporary_of).is_some_and(ours)
}

fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

fn regular(file: File) -> io::Result<File> {
    refuse_irregular(FileType::from_raw_mode(file.metadata()?.mode()))?;
    Ok(file)
}

fn refuse_irregular(kind: FileType) -> io::Result<()> {
    let what = match kind {
        FileType::RegularFile => return Ok(()),
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a pipe",
        FileType::Directory => "a directory",
        FileType::Socket => "a socket",
        _ => "a device",
    };
    let words = format!("it is {what}, not a regular file; move it away");
    Err(io::Error::new(io::ErrorKind::InvalidInput, words))
}
