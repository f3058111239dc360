//! Files in a directory that other users may be able to write: nothing here follows a symbolic
//! link, a file appears whole or not at all, and only regular files are read. What the user names
//! as an output ([`NamedOutput`]) may also be a link, a pipe or a device. Knows no formats.

use std::ffi::OsStr;
use std::fs::{File, TryLockError};
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
    /// The permissions that new files and directories may have.
    open_to: u32,
}

impl Directory {
    /// Opens a directory that the user named.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
        Ok(Self { path: path.to_path_buf(), handle, open_to: 0o777 })
    }

    /// The same directory, in which new files and directories are their owner's alone; if a group
    /// shares it (as it says by its set-group-ID bit, or as `shared` does), also the group's.
    pub fn private(&self, shared: bool) -> io::Result<Self> {
        let mode = rustix::fs::fstat(&self.handle)?.st_mode;
        let shared = shared || Mode::from_raw_mode(mode).contains(Mode::SGID);
        let open_to = if shared { 0o700 | mode & 0o070 } else { 0o700 };
        Ok(Self { path: self.path.clone(), handle: self.handle.try_clone()?, open_to })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn mode(&self, permissions: u32) -> Mode {
        Mode::from_raw_mode(permissions & self.open_to)
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
        Ok(Self { path: self.path.join(name), handle, open_to: self.open_to })
    }

    /// A file that did not exist before.
    pub fn create_new(&self, name: &str) -> io::Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.handle, name, flags, self.mode(0o666))?.into())
    }

    /// Creates a file under a fresh temporary name; [`NewFile::commit`] renames it. It has the
    /// permissions of the file that it replaces.
    pub fn new_file(&self, name: &str) -> io::Result<NewFile<'_>> {
        loop {
            let temporary = format!(".{name}.{:016x}{PART}", random());
            match self.create_new(&temporary) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => {
                    let file = created?;
                    if let Ok(old) = self.open_file(name).and_then(|old| old.metadata()) {
                        // A disk without permissions has none to keep.
                        let _ = file.set_permissions(old.permissions());
                    }
                    // Whoever removes leftovers sees that it is none; where there are no locks, it
                    // is the only one at work.
                    let _ = file.try_lock();
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

    /// Opens a regular file for reading; anything else is refused unopened.
    pub fn open_file(&self, name: &str) -> io::Result<File> {
        let stat = rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)?;
        refuse_irregular(FileType::from_raw_mode(stat.st_mode))?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        regular(rustix::fs::openat(&self.handle, name, flags, Mode::empty())?.into())
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
            let is_held = || {
                self.open_file(temporary)
                    .is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
            };
            if temporary_of(temporary).is_some_and(&ours) && !is_held() {
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
    /// Where it is until it is committed.
    pub fn temporary(&self) -> PathBuf {
        self.directory.path.join(&self.temporary)
    }

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

/// Where an output goes that the user names by its path.
#[derive(Debug)]
pub enum NamedOutput {
    /// Into a regular file, which is replaced as a whole; one that holds data of patients is
    /// private.
    Whole(Directory, String),
    /// Through a pipe or a device.
    Through(File),
}

impl NamedOutput {
    /// Finds out where a path leads; opens it if that is a pipe or a device. A link stays: the file
    /// behind it is meant.
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = match std::fs::metadata(path) {
            Ok(about) if !about.is_file() && !about.is_dir() => {
                return File::options().write(true).open(path).map(Self::Through);
            }
            Ok(_) => path.canonicalize()?,
            Err(_) if path.is_symlink() => {
                return Err(io::Error::other("it is a link to a file that does not exist"));
            }
            Err(_) => path.to_owned(),
        };
        let Some(name) = path.file_name().and_then(OsStr::to_str).filter(|_| !path.is_dir()) else {
            return Err(io::Error::other("it is not the name of a file"));
        };
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = Directory::open(parent.unwrap_or(Path::new(".")))?.private(false)?;
        Ok(Self::Whole(directory, name.to_owned()))
    }

    /// Begins to write, and removes what killed processes left half-written under this name.
    pub fn begin(&self) -> io::Result<OutputFile<'_>> {
        Ok(match self {
            Self::Whole(directory, name) => {
                // One that cannot be removed does no harm.
                let _ = directory.remove_leftovers(|leftover| leftover == name);
                OutputFile::Whole(directory.new_file(name)?)
            }
            Self::Through(file) => OutputFile::Through(Box::new(file)),
        })
    }

    /// Writes all of it.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.begin()?;
        file.write_all(bytes)?;
        file.commit()
    }
}

/// An output that is being written.
pub enum OutputFile<'a> {
    Whole(NewFile<'a>),
    Through(Box<dyn Write + 'a>),
}

impl OutputFile<'_> {
    /// Puts the file in its place.
    pub fn commit(self) -> io::Result<()> {
        match self {
            Self::Whole(file) => {
                let directory = file.directory;
                file.commit().and_then(|()| directory.sync())
            }
            Self::Through(mut stream) => stream.flush(),
        }
    }
}

impl Write for OutputFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Whole(file) => file.write(bytes),
            Self::Through(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Whole(file) => file.flush(),
            Self::Through(stream) => stream.flush(),
        }
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

/// Refuses to write a file that is read, under whatever name, also as standard input.
pub fn refuse_inputs<'a>(
    read: impl IntoIterator<Item = &'a Path>,
    written: impl IntoIterator<Item = PathBuf>,
) -> Result<()> {
    let identity = |path: &Path| {
        let about = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
        Some((about.dev(), about.ino()))
    };
    let read = read.into_iter().chain([Path::new("/dev/stdin")]);
    let read: Vec<_> = read.filter_map(identity).collect();
    let is_read = |path: &PathBuf| identity(path).is_some_and(|file| read.contains(&file));
    written.into_iter().find(is_read).map_or(Ok(()), |path| {
        Err(Error::resume("this file is read and would be overwritten")
            .file(path)
            .remedy("choose another name for what is written"))
    })
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
