/**
 * Standard output and standard error may not accept output.
 *
 * A reader that has left (`heddle --help | head`) ends nothing and is not reported: that is how pipes end.
 * Anything else, a full disk for one, loses requested output: it is reported on
 * standard error, and the exit code is not 0.
 */
import { exitCodes } from '../exit-codes.ts'

/** Called once, before anything is written. */
export function guardOutputs(): void {
  const { stdout, stderr } = process
  let isLost = false
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE' || isLost) return
    isLost = true
    stderr.write(
      `heddle: Standard output could not be written: ${error.message}.\n` +
        '        What was printed is incomplete. Make room or choose another file, then run the command again.\n',
    )
  })
  // There is no place left where its loss could be reported.
  stderr.on('error', () => undefined)
  process.on('exit', () => {
    if (isLost && (process.exitCode === undefined || process.exitCode === exitCodes.ok)) {
      process.exitCode = exitCodes.failed
    }
  })
}
