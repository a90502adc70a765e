//! `portcullis crs install`: a CRS from the binary, a folder or an archive, to where it is found by itself.
//!
//! Nothing is replaced and nothing is left half-written: the files are gathered in a temporary folder beside the
//! target, verified there, and moved in one step.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};

use super::{at, differences};
use crate::cli::Exit;
use crate::seclang::source::Loader as _;
use crate::sets::crs::{self, CrsFolder};
use crate::sets::files::Files;

/// Installs; [`Exit::No`] when the files are not those of the release they claim to be.
pub(super) fn run(from: Option<&Path>, dir: Option<&Path>) -> anyhow::Result<Exit> {
    let files = Files::default();
    let unpacked = from.filter(|from| from.is_file()).map(unpack).transpose()?;
    let source = match unpacked.as_ref().map(Temporary::path).or(from) {
        Some(folder) => root_in(&files, folder)?,
        None => CrsFolder::embedded(&files).context("this binary holds no CRS; name one with `--from DIR|ARCHIVE`")?,
    };
    let target = target(&source, dir)?;
    ensure!(
        !target.exists(),
        "`{}` is there already; remove it, or name another folder with `--dir`",
        target.display()
    );
    let differences = differences(&files, &source);
    if let Some(differences) = differences.as_ref().filter(|differences| !differences.is_none()) {
        let lines: Vec<String> = differences.lines().collect();
        writeln!(io::stderr(), "not installed, {} is not as released: {}", source.title(), lines.join(", "))?;
        return Ok(Exit::No);
    }
    copy(&files, &source, &target).with_context(|| format!("cannot write `{}`", target.display()))?;
    let state = if differences.is_some() { "verified" } else { "unverified" };
    let version = source.version.as_deref().unwrap_or("of unknown version");
    writeln!(io::stdout(), "crs {version} installed in {}, {state}", target.display())?;
    Ok(Exit::Fine)
}

/// The folder itself, or the only one in it, as release archives have it.
fn root_in(files: &Files, folder: &Path) -> anyhow::Result<CrsFolder> {
    let inner = fs::read_dir(folder).with_context(|| format!("cannot read `{}`", folder.display()))?;
    let inner: Vec<PathBuf> = inner.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    match (at(files, folder), inner.as_slice()) {
        (Err(_), [only]) => at(files, only),
        (found, _) => found,
    }
}

fn target(source: &CrsFolder, dir: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(dir) = dir {
        return Ok(dir.to_owned());
    }
    let root = crs::install_root().context("neither XDG_DATA_HOME nor HOME is set; name a folder with `--dir`")?;
    let version =
        source.version.as_deref().context("the files do not tell their version; name a folder with `--dir`")?;
    Ok(root.join(version))
}

/// Everything a CRS needs to run, and its licence.
fn copy(files: &Files, source: &CrsFolder, target: &Path) -> anyhow::Result<()> {
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent)?;
    let work = Temporary::beside(target)?;
    let listed =
        ["rules", "plugins"].into_iter().flat_map(|folder| files.list(&format!("{}/{folder}", source.root), ""));
    let wanted = |path: &String| [".conf", ".data", ".example"].iter().any(|ending| path.ends_with(ending));
    let single =
        ["crs-setup.conf.example", "crs-setup.conf", "LICENSE", "NOTICE"].map(|name| format!("{}/{name}", source.root));
    for path in listed.filter(wanted).chain(single.into_iter().filter(|path| files.exists(path))) {
        let name = path.strip_prefix(&format!("{}/", source.root)).unwrap_or(&path);
        let to = work.path().join(name);
        fs::create_dir_all(to.parent().unwrap_or(parent))?;
        fs::write(&to, files.read(&path).map_err(|reason| anyhow::anyhow!("`{path}`: {reason}"))?)?;
    }
    fs::rename(work.path(), target)?;
    Ok(())
}

/// Unpacks with the system's own tools, which know every flavour of archive.
fn unpack(archive: &Path) -> anyhow::Result<Temporary> {
    let work = Temporary::beside(&std::env::temp_dir().join("portcullis-crs"))?;
    let is_zip = archive.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("zip"));
    let mut command = Command::new(if is_zip { "unzip" } else { "tar" });
    match is_zip {
        true => command.arg("-q").arg(archive).arg("-d").arg(work.path()),
        false => command.arg("-xzf").arg(archive).arg("-C").arg(work.path()),
    };
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .with_context(|| format!("cannot run `{name}`; unpack the archive yourself and name the folder"))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        bail!(
            "`{name}` cannot unpack `{}`: {}",
            archive.display(),
            reason.lines().find(|line| !line.is_empty()).unwrap_or("no reason given")
        );
    }
    Ok(work)
}

/// A folder that is removed when it is no longer used; moving it away first is fine.
struct Temporary(PathBuf);

impl Temporary {
    fn beside(path: &Path) -> anyhow::Result<Self> {
        let mut name = path.file_name().context("that is no name for a folder")?.to_owned();
        name.push(format!(".{}.tmp", std::process::id()));
        let path = path.with_file_name(name);
        fs::create_dir(&path).with_context(|| format!("cannot make the folder `{}`", path.display()))?;
        Ok(Self(path))
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Gone already after a rename; what cannot be removed is only litter.
        let _ = fs::remove_dir_all(&self.0);
    }
}
