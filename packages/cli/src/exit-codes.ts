/** What the exit codes of all commands mean. Released codes do not change. */
export const exitCodes = {
  ok: 0,
  /** The command did its work, and the answer is no: a job failed, a check failed. */
  failed: 1,
  /** The command was not understood, or could not start: nothing has been done. */
  usage: 2,
  /** The work was done in part: something could not be read. */
  incomplete: 3,
  /** A server refused this program for good: a token that was revoked, a user who was blocked. */
  refused: 3,
  /** The server speaks no protocol of this version. */
  outdated: 4,
  /** The run was cancelled. */
  cancelled: 130,
  /** It was ended at once with SIGTERM: 128 and the number of the signal, as shells count. */
  terminated: 143,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

const meanings: Readonly<Record<ExitCode, string>> = {
  0: 'everything succeeded',
  1: 'something failed',
  2: 'the command was not understood, or could not start',
  3: 'something could not be read: the answer is incomplete',
  4: 'the server speaks no protocol of this version',
  130: 'it was cancelled',
  143: 'it was terminated',
}

/** The end of a command's help. Meanings may be made more exact. */
export function exitCodeHelp(own: Partial<Readonly<Record<ExitCode, string>>>): string {
  const lines = Object.entries(own).map(
    ([code, meaning]) => `  ${code.padEnd(4)} ${meaning || meanings[Number(code) as ExitCode]}`,
  )
  return `\nExit codes:\n${lines.join('\n')}`
}
