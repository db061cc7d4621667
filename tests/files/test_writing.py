"""One writer: whole or not at all, links followed, what is no file left alone, new means new."""

from __future__ import annotations

import errno
import os
import socket
import stat
import threading
import zipfile

import pytest

from scratch_embed.files import alone_in, check_writable, replacing, reserve
from scratch_embed.files.regular import refuse_special

posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")


def write(path, content: str = "new", **options) -> None:
    with replacing(path, **options) as temporary:
        temporary.write_text(content, encoding="utf-8")


def names(folder) -> list[str]:
    return sorted(os.listdir(folder))


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_block_that_fails_leaves_everything_as_it_was(tmp_path, error):
    (tmp_path / "a.txt").write_text("old", encoding="utf-8")
    for name in ("a.txt", "b.txt"):
        with pytest.raises(error), replacing(tmp_path / name) as temporary:
            temporary.write_text("half", encoding="utf-8")
            raise error
    assert names(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "old"


def test_ctrl_c_stays_ctrl_c_where_a_writer_stumbles_over_it(tmp_path):
    other = tmp_path / "other.zip"
    with (
        pytest.raises(KeyboardInterrupt),
        replacing(tmp_path / "run.npz"),
        zipfile.ZipFile(other, "w") as archive,
    ):
        entry = archive.open("entry", "w")  # open still, so that closing the archive is refused
        raise KeyboardInterrupt(entry)
    assert not (tmp_path / "run.npz").exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows does not replace a file that is open")
def test_a_reader_keeps_the_old_file_while_a_new_one_takes_its_name(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old text", encoding="utf-8")
    with path.open(encoding="utf-8") as reader:
        with replacing(path) as temporary:
            temporary.write_text("new", encoding="utf-8")
            assert path.read_text(encoding="utf-8") == "old text"
        assert reader.read() == "old text"
    assert path.read_text(encoding="utf-8") == "new"


def test_replacing_keeps_permissions_and_gives_new_files_the_usual_ones(tmp_path):
    def write(name):
        with replacing(tmp_path / name) as temporary:
            temporary.write_text("x", encoding="utf-8")
        return (tmp_path / name).stat().st_mode & 0o777

    plain = tmp_path / "plain"
    plain.write_text("x", encoding="utf-8")
    assert write("new") == plain.stat().st_mode & 0o777
    plain.chmod(0o640)
    assert write("plain") == plain.stat().st_mode & 0o777
    if os.name != "nt":
        assert write("plain") == 0o640


def test_folders_are_made_and_long_names_fit(tmp_path):
    name = "n" * 251 + ".txt"  # 255 letters, all that a system takes
    write(tmp_path / "a" / "b" / name)
    assert names(tmp_path / "a" / "b") == [name]


def test_a_home_folder_that_no_shell_has_put_in_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for start in (lambda: write("~/x.txt"), lambda: alone_in("~").__enter__()):
        with pytest.raises(ValueError, match=r"begins with ~.*os\.path\.expanduser"):
            start()
    assert names(tmp_path) == []
    write("~x.txt")
    assert names(tmp_path) == ["~x.txt"]


def test_folders_that_nothing_comes_into_go_again(tmp_path):
    (tmp_path / "there").mkdir()
    check_writable(tmp_path / "there" / "a" / "b" / "x.txt")
    with alone_in(tmp_path / "there" / "a" / "c"):
        assert names(tmp_path / "there" / "a") == ["c"]
    assert names(tmp_path) == ["there"] and names(tmp_path / "there") == []
    with alone_in(tmp_path / "there" / "a" / "c"):
        write(tmp_path / "there" / "a" / "x.txt")
    assert names(tmp_path / "there" / "a") == ["x.txt"]


@posix
def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "real.txt").write_text("old", encoding="utf-8")
    (tmp_path / "link").symlink_to("there/real.txt")
    (tmp_path / "to nothing").symlink_to("there/not yet.txt")
    write(tmp_path / "link")
    write(tmp_path / "to nothing")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "to nothing").is_symlink()
    assert names(tmp_path / "there") == ["not yet.txt", "real.txt"]
    for path in (tmp_path / "there").iterdir():
        assert path.read_text(encoding="utf-8") == "new"


@posix
def test_links_in_a_circle_are_refused_and_stay(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="loop"):
        write(tmp_path / "loop")
    with pytest.raises(FileExistsError):
        write(tmp_path / "loop", new=True)
    assert (tmp_path / "loop").is_symlink() and names(tmp_path) == ["loop"]


@posix
def test_pipes_sockets_and_folders_are_refused_and_stay(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    os.mkfifo("pipe")
    os.mkdir("folder")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        for name, told in (("pipe", "is a pipe"), ("socket", "is a socket")):
            with pytest.raises(OSError, match=f"{name} {told}, not a file on a disk"):
                write(name)
            with pytest.raises(OSError, match=told):
                check_writable(name)
    with pytest.raises(IsADirectoryError, match="folder is a folder. Name a file inside it."):
        write("folder")
    assert stat.S_ISFIFO(os.stat("pipe").st_mode) and stat.S_ISSOCK(os.stat("socket").st_mode)
    assert names(".") == ["folder", "pipe", "socket"]


def test_a_device_is_refused():  # by its kind alone: a wrong writer would replace a real one
    for kind in (stat.S_IFCHR, stat.S_IFBLK):
        with pytest.raises(OSError, match="/dev/full is a device"):
            refuse_special("/dev/full", kind | 0o666)


def test_a_writer_that_fails_is_told_early_and_leaves_nothing(tmp_path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    check_writable(tmp_path / "file")
    check_writable(tmp_path / "folder" / "new")
    with pytest.raises(OSError, match="file"):
        check_writable(tmp_path / "file" / "new")
    assert names(tmp_path) == ["file"]


# ---- new files -----------------------------------------------------------------------------------


@pytest.fixture(params=["second names", "none"])
def disk(request, monkeypatch):
    """A disk whose files may have two names, and one, such as a USB stick, where they may not."""
    if request.param == "none":

        def refused(*_):
            raise PermissionError(errno.EPERM, "Operation not permitted")

        monkeypatch.setattr(os, "link", refused)


def test_a_new_file_never_takes_the_place_of_another(disk, tmp_path):
    write(tmp_path / "a", "first", new=True)
    with pytest.raises(FileExistsError, match="a exists, and is not overwritten"):
        write(tmp_path / "a", "second", new=True)
    with pytest.raises(FileExistsError, match="b"), replacing(tmp_path / "b", new=True) as late:
        late.write_text("late", encoding="utf-8")
        (tmp_path / "b").write_text("first", encoding="utf-8")  # another process was faster
    assert names(tmp_path) == ["a", "b"]
    for path in tmp_path.iterdir():
        assert path.read_text(encoding="utf-8") == "first"


def test_of_many_that_create_a_file_at_once_one_succeeds(disk, tmp_path):
    together, done = threading.Barrier(8), []

    def create(number):
        try:
            with replacing(tmp_path / "a", new=True) as temporary:
                temporary.write_text(str(number), encoding="utf-8")
                together.wait(timeout=30)
            done.append(str(number))
        except FileExistsError:
            done.append(None)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = [number for number in done if number is not None]
    assert len(done) == 8 and (tmp_path / "a").read_text(encoding="utf-8") == winner
    assert names(tmp_path) == ["a"]


@posix
def test_a_new_file_does_not_follow_a_link(tmp_path):
    (tmp_path / "link").symlink_to("elsewhere")
    with pytest.raises(FileExistsError), replacing(tmp_path / "link", new=True):
        pytest.fail("work was begun whose result has no place")
    assert names(tmp_path) == ["link"]


# ---- room ----------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="this system takes no room ahead")
def test_room_is_taken_at_once(tmp_path):
    with open(tmp_path / "a", "wb") as file:
        assert reserve(file, 1 << 20, tmp_path / "a")
        status = os.fstat(file.fileno())
    (tmp_path / "zeros").write_bytes(bytes(1 << 20))
    zeros = (tmp_path / "zeros").stat()  # what zeros take on this disk: some compress them
    assert status.st_size == 1 << 20 and status.st_blocks >= zeros.st_blocks
    assert (tmp_path / "a").read_bytes() == bytes(1 << 20)


def test_a_full_disk_and_one_that_takes_no_room_ahead(tmp_path, monkeypatch):
    def fallocate(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "posix_fallocate", fallocate, raising=False)
    with open(tmp_path / "a", "wb") as file:
        number = errno.ENOSPC
        with pytest.raises(OSError, match="the file takes 5,000 bytes.*are free.*table.npy"):
            reserve(file, 5000, tmp_path / "table.npy")
        number = errno.EOPNOTSUPP
        assert reserve(file, 5000, tmp_path / "table.npy") is False
    monkeypatch.delattr(os, "posix_fallocate")
    assert reserve(None, 5000, tmp_path / "table.npy") is False


def test_a_disk_that_gets_full_is_told_with_the_name_of_the_file(tmp_path):
    path = tmp_path / "table.npy"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(OSError, match="No space left on device.*table.npy"), replacing(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # as writing says it, without a name
    assert path.read_text(encoding="utf-8") == "old" and list(tmp_path.iterdir()) == [path]


def test_a_file_that_is_write_protected_stays_as_it_is(tmp_path, monkeypatch):
    path = tmp_path / "best.npz"
    path.write_text("kept", encoding="utf-8")
    path.chmod(0o444)
    # root may write to it all the same; so say that it may not
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    for writing in (lambda: check_writable(path), lambda: write(path)):
        with pytest.raises(PermissionError, match=r"best\.npz is write-protected, and is not"):
            writing()
    assert path.read_text(encoding="utf-8") == "kept"
