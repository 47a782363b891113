"""The command `selfpaced verify`."""

import pytest

from selfpaced.commands.main import main
from tests.reports.invented_runs import invented_run


def test_whole_runs_are_confirmed_and_damaged_files_are_named(tmp_path, capsys):
    invented_run(tmp_path / "one", seeds=(1,))
    other = invented_run(tmp_path / "other", seeds=(1,))
    main(["verify", str(tmp_path)])
    assert "one: 7 ok" in capsys.readouterr().out
    path = other.path / "evaluations.csv"
    path.write_text(path.read_text().replace("0.25", "0.35"))
    with pytest.raises(SystemExit) as stopped:
        main(["verify", str(tmp_path)])
    assert stopped.value.code == 2
    output = capsys.readouterr()
    assert "damaged evaluations.csv" in output.out
    assert "1 damaged files" in output.err


def test_a_checkpoint_is_missed_if_its_record_is_there(tmp_path, capsys):
    run = invented_run(tmp_path / "run", seeds=(1,), reached=[12])
    run.files()[0].newest.unlink()
    with pytest.raises(SystemExit):
        main(["verify", str(run.path)])
    assert "block-0.safetensors is missing" in capsys.readouterr().out


def test_a_folder_without_runs_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["verify", str(tmp_path)])
    assert "has no run folder in it" in capsys.readouterr().err
