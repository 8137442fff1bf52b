/** Errors of the file system that a command met: what to do about them. */
import { isOurs } from './own-frames.ts'

const remedies: Readonly<Record<string, string>> = {
  EACCES: 'Make the folder writable for this user, or choose another place for the file.',
  EPERM: 'Make the folder writable for this user, or choose another place for the file.',
  EROFS: 'The file system is read-only: choose another place for the file.',
  ENOSPC: 'Make room on the disk, then run the command again.',
  EDQUOT: 'Make room in the quota of this user, then run the command again.',
}

/**
 * What to do, or undefined for errors of another kind. An error that code of the user has met is of
 * another kind: there the stack says more.
 */
export function remedyFor(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code === undefined || syscall === undefined) return undefined
  return hasUserFrame(error) ? undefined : remedies[code]
}

/** Whether code of the user is in the stack of an error. */
export function hasUserFrame({ stack = '' }: Error): boolean {
  return stack.split('\n').some((line) => /^\s+at /.test(line) && isOfUser(line))
}

function isOfUser(frame: string): boolean {
  return !/node:internal|[/\\]node_modules[/\\]commander[/\\]/.test(frame) && !isOurs(frame)
}
