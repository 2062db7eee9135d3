import subprocess
import sys


def test_the_page_of_operators_is_what_the_registry_says(root):
    command = [sys.executable, "tools/operator_page.py", "--check"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
