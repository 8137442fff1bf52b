/**
 * Refuses a Node that is too old, with one sentence: without it the first thing that is missing there decides what the
 * error says. Imported first by every entry of the package; modules imported after it may need features that old
 * versions lack, but must not import it by name, because names are linked before any code runs.
 */
import { HeddleError } from '../errors.ts'

const least = [22, 18] as const

/** @throws `HDL_NODE_TOO_OLD`. */
export function checkNode(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > least[0] || (major === least[0] && minor >= least[1])) return
  throw new HeddleError('HDL_NODE_TOO_OLD', { version, least: least.join('.') })
}

checkNode(process.versions.node)
