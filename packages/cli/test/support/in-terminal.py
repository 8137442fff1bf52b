"""Runs a program in a terminal of its own: python3 in-terminal.py COLUMNS ROWS PROGRAM ARGUMENTS...

What is typed comes from standard input, what is shown goes to standard output. A line "COLUMNS ROWS" on
descriptor 3 resizes the terminal. The exit code is that of the program.
"""
import fcntl
import os
import pty
import select
import struct
import sys
import termios

columns, rows = int(sys.argv[1]), int(sys.argv[2])


def resize(fd, columns, rows):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


pid, terminal = pty.fork()
if pid == 0:
    resize(0, columns, rows)
    os.close(3)
    os.execvp(sys.argv[3], sys.argv[3:])

inputs = [terminal, 0, 3]
control = b""
while terminal in inputs:
    ready, _, _ = select.select(inputs, [], [])
    for fd in ready:
        try:
            data = os.read(fd, 65536)
        except OSError:  # The last program has closed its side.
            data = b""
        if not data:
            inputs.remove(fd)
        elif fd == terminal:
            while data:
                data = data[os.write(1, data):]
        elif fd == 0:
            os.write(terminal, data)
        else:
            control += data
            *lines, control = control.split(b"\n")
            for line in lines:
                resize(terminal, *map(int, line.split()))

_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status) & 255)
