import { Socket } from 'node:net'

/**
 * Ends this process when its launcher has ended.
 *
 * Where the launcher cannot replace itself it waits in front of us and passes signals on. It cannot
 * pass on SIGKILL: whoever kills it would leave the run behind, with the journal locked. The pipe that it
 * holds closes however it ends.
 */
export function holdLifeline(): void {
  const fd = process.env['HEDDLE_LIFELINE']
  if (fd === undefined) return
  // Not for the programs that jobs start.
  delete process.env['HEDDLE_LIFELINE']
  const pipe = new Socket({ fd: Number(fd) })
  pipe.on('error', () => {})
  pipe.on('close', () => process.exit(137))
  pipe.resume()
  pipe.unref()
}
