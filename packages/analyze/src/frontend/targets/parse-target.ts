import { HeddleError } from '@heddle/core'

/** The target as it was written. */
export type TargetSpec =
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'lines'; readonly path: string; readonly from: number; readonly to: number }
  | { readonly kind: 'function'; readonly path: string; readonly name: string }
  | { readonly kind: 'stdin' }

/**
 * Reads `src/`, `file.ts`, `file.ts:120-180`, `file.ts:120`, `file.ts#Client.connect` and `-`.
 *
 * @param exists Whether a path exists: a file may have `#` or `:` in its name.
 * @throws `HDL_BAD_TARGET` when a range of lines is empty or counts from 0.
 */
export function parseTarget(target: string, exists: (path: string) => boolean): TargetSpec {
  if (target === '-') return { kind: 'stdin' }
  if (exists(target)) return { kind: 'path', path: target }
  const lines = /^(.+):(\d+)(?:-(\d+))?$/s.exec(target)
  if (lines !== null) {
    const [, path = '', first = '', last = first] = lines
    const [from, to] = [Number(first), Number(last)]
    if (from < 1) throw bad(target, 'counts lines from 0: the first line is 1')
    if (to < from) throw bad(target, `has no lines: ${to} is before ${from}`)
    return { kind: 'lines', path, from, to }
  }
  // A private method is `file.ts##reset`.
  const named = /^([^#]+)#(#?[^#]+)$/s.exec(target)
  if (named !== null) return { kind: 'function', path: named[1] ?? '', name: named[2] ?? '' }
  return { kind: 'path', path: target }
}

function bad(target: string, problem: string): HeddleError {
  return new HeddleError('HDL_BAD_TARGET', { target, problem })
}
