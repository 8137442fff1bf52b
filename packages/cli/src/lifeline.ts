import { Socket } from 'node:net'
import { systemKernel } from '@heddle/core/lowlevel'

/**
 * Ends this process when its launcher has ended.
 *
 * Where the launcher cannot replace itself it waits in front of us and passes signals on. It cannot
 * pass on SIGKILL: killing it would leave the run behind, with the journal locked. The pipe that it
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

/** Milliseconds between two checks of the parent. */
const checkInterval = 250

/**
 * Stops this process when the shell of npx has ended.
 *
 * npx starts a command through a shell. It passes SIGTERM on to the shell, which ends by it and passes nothing on: the command
 * would run for ever, and hold its port. There is no event for the end of a parent. Not for `npm run`: a script may leave a
 * server in the background on purpose.
 */
export function followShellOfNpx(): void {
  if (process.env['npm_command'] !== 'exec' || process.platform === 'win32') return
  const shell = process.ppid
  // Ctrl+C reaches all processes of a terminal: then the end of the shell is not a second signal.
  let isStopping = false
  const followed = new Set<string | symbol>()
  process.on('newListener', (event) => {
    if (!/^SIG(INT|TERM|HUP)$/.test(String(event)) || followed.has(event)) return
    followed.add(event)
    process.prependListener(event as 'SIGTERM', () => (isStopping = true))
  })
  const checkParent = (): void => {
    if (isStopping) return
    if (process.ppid === shell) checkLater()
    else process.kill(process.pid, 'SIGTERM')
  }
  const checkLater = (): void => systemKernel.clock.setTimer(checkInterval, checkParent).unref?.()
  checkLater()
}
