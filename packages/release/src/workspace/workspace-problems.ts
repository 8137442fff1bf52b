import path from 'node:path'
import { HeddleError } from '@heddle/core'

/** Something in a file that must be repaired before a release. */
export interface Problem {
  /** Absolute. */
  readonly file: string
  readonly line?: number | undefined
  readonly problem: string
  /** What to do about it, as a sentence. */
  readonly todo: string
}

/**
 * Collects problems, so that one run reports all of them: repairing forty manifests one
 * error at a time takes too long.
 */
export class Problems {
  readonly #root: string
  readonly #found: Problem[] = []

  constructor(root: string) {
    this.#root = root
  }

  get count(): number {
    return this.#found.length
  }

  add(problem: Problem): void {
    this.#found.push(problem)
  }

  /** Sorted by file and line, not by the order in which files happened to be read. */
  list(): Problem[] {
    const named = this.#found.map((problem) => ({
      ...problem,
      file: path.relative(this.#root, problem.file).split(path.sep).join('/') || '.',
    }))
    return named.toSorted(
      (a, b) =>
        compareText(a.file, b.file) ||
        (a.line ?? 0) - (b.line ?? 0) ||
        compareText(a.problem, b.problem),
    )
  }

  /** @throws `HDL_WORKSPACE_INVALID` when there are any. */
  throwIfAny(): void {
    if (this.count === 0) return
    throw new HeddleError('HDL_WORKSPACE_INVALID', { root: this.#root, problems: this.list() })
  }
}

/** The same on every machine, whatever its language. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
