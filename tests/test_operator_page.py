import subprocess
import sys


def test_the_page_of_operators_is_what_the_registry_says(root):
    done = subprocess.run(
        [sys.executable, "tools/operator_page.py", "--check"], cwd=root, env=None, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
