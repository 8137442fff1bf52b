import { hostname } from 'node:os'

/** Whether it was a process of this machine, and is gone. Of other machines nothing is known. */
export function isProcessGone({
  pid,
  host,
}: {
  readonly pid: number
  readonly host: string
}): boolean {
  return host === hostname() && !isProcessAlive(pid)
}

/** Whether a process of this machine has this number. A later one with the number of one that was killed is taken for it. */
export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
