/** The one way in which Git is run: the same environment, limits and retries for every question and change. */
import { isError } from '@heddle/core'
import { Patience, runCommand, systemKernel, type WaitOptions } from '@heddle/core/lowlevel'

const mostTries = 4
/** Milliseconds, more with each try. */
const lockPause = 500

/** Bytes of one answer. One commit may change very many files. */
const longestAnswer = 256 * 2 ** 20

/** Names of files as they are, and not in quotes with numbers for letters. No signatures between the lines of a log. */
const settings = ['--no-pager', '-c', 'core.quotePath=false', '-c', 'log.showSignature=false']

/**
 * English, because what failed is recognised by its text. In UTF-8, for hooks. Nothing is asked in the terminal: a
 * remote that wants a password refuses. A question writes no index.
 */
const fixed = {
  LC_ALL: 'C.UTF-8',
  LANGUAGE: 'en',
  GIT_TERMINAL_PROMPT: '0',
  GIT_OPTIONAL_LOCKS: '0',
}

/**
 * What Git prints.
 *
 * *Cancellation*: ends Git.
 * @throws `HDL_COMMAND_FAILED`.
 */
export async function runGit(
  root: string,
  args: readonly string[],
  wait: WaitOptions,
  input?: string,
): Promise<string> {
  const { signal, deadline } = wait
  for (let tries = 1; ; tries++) {
    try {
      const { stdout } = await runCommand('git', [...settings, ...args], {
        cwd: root,
        env: { ...process.env, ...fixed },
        keep: longestAnswer,
        ...(input !== undefined && { input }),
        ...(signal !== undefined && { signal }),
        ...(deadline !== undefined && { deadline }),
      })
      return stdout
    } catch (error) {
      // A Ctrl+C reaches a process that is just being started, before it has a group of its own. All
      // that Git is asked here can be asked again.
      const isFailure = isError(error, 'HDL_COMMAND_FAILED')
      const isInterrupted = isFailure && /SIGINT/.test(error.message)
      // The Git of a process that was killed may still be at work, for a moment.
      const isLocked =
        isFailure && /\.lock': File exists|cannot lock ref(?!.*already exists)/.test(error.message)
      if ((!isInterrupted && !isLocked) || tries === mostTries) throw error
      if (isLocked) await new Patience('git', systemKernel.clock, wait).pause(lockPause * tries)
    }
  }
}
