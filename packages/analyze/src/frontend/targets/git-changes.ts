/**
 * What changed since a revision: lines of the files as they are now in the work tree.
 *
 * Compared with where the branch left the revision, so later changes there by others are not
 * shown. Files that git does not know yet are changed as a whole.
 */
import path from 'node:path'
import { HeddleError } from '@heddle/core'
import { describe, runCommand } from '@heddle/core/lowlevel'

/** First and last line, counted from 1. */
export type LineRange = readonly [from: number, to: number]

/** Keyed by absolute path; `all` for a new file. */
export type ChangedLines = ReadonlyMap<string, readonly LineRange[] | 'all'>

export interface GitOptions {
  readonly root: string
  readonly signal?: AbortSignal
}

const quiet = ['-c', 'core.quotePath=false', '-c', 'diff.noprefix=false', '-c', 'color.ui=false']
const limitMs = 60_000
const keepBytes = 256 * 1024 * 1024

/**
 * Asks git for the changed lines.
 *
 * *Cancellation*: git is ended; nothing is left behind.
 * *Fairness*: none needed; every call has its own process.
 * @throws `HDL_BAD_TARGET` when there is no repository, no git or no such revision.
 */
export async function changedSince(revision: string, options: GitOptions): Promise<ChangedLines> {
  const git = (...args: readonly string[]): Promise<string> => runGit(args, options)
  if (revision.startsWith('-')) throw bad(revision, 'is not a revision')
  let top: string
  try {
    top = (await git('rev-parse', '--show-toplevel')).trim()
    await git('rev-parse', '--verify', '--quiet', `${revision}^{commit}`)
  } catch (error) {
    options.signal?.throwIfAborted()
    throw bad(
      revision,
      `is not a revision that can be compared with (${firstLine(describe(error))})`,
    )
  }
  const base = await git('merge-base', revision, 'HEAD').catch(() => revision)
  const diff = await git(
    'diff',
    '--unified=0',
    '--find-renames',
    '--no-ext-diff',
    '--no-textconv',
    '--src-prefix=a/',
    '--dst-prefix=b/',
    base.trim(),
    '--',
  )
  const changed = new Map<string, readonly LineRange[] | 'all'>()
  for (const [file, ranges] of parseDiff(diff)) changed.set(path.join(top, file), ranges)
  const unknown = await git('ls-files', '--others', '--exclude-standard', '--full-name', '-z', top)
  for (const file of unknown.split('\0')) if (file !== '') changed.set(path.join(top, file), 'all')
  return changed
}

/** The changed lines of a diff without context, by path from the top of the repository. */
export function parseDiff(diff: string): ReadonlyMap<string, readonly LineRange[] | 'all'> {
  const changed = new Map<string, LineRange[] | 'all'>()
  let ranges: LineRange[] = []
  let isNew = false
  let isHeader = false
  for (const line of diff.split('\n')) {
    if (line.startsWith('diff --git ')) {
      isHeader = true
      isNew = false
      ranges = []
    } else if (isHeader && line.startsWith('new file mode')) {
      isNew = true
    } else if (isHeader && line.startsWith('+++ ')) {
      const file = pathOf(line.slice(4))
      if (file !== undefined) changed.set(file, isNew ? 'all' : ranges)
    } else {
      const hunk = /^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@/.exec(line)
      if (hunk === null) continue
      isHeader = false
      const at = Number(hunk[1])
      const count = Number(hunk[2] ?? 1)
      // Where lines were only removed, the neighbouring lines on both sides count.
      ranges.push(count === 0 ? [Math.max(1, at), at + 1] : [at, at + count - 1])
    }
  }
  return changed
}

/** `b/src/x.ts`, or quoted when it has unusual characters; undefined for a deleted file. */
function pathOf(written: string): string | undefined {
  const name = written.replace(/\t.*$/, '')
  if (name === '/dev/null') return undefined
  return (name.startsWith('"') ? unquote(name) : name).replace(/^b\//, '')
}

function unquote(name: string): string {
  const named: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' }
  return name
    .slice(1, -1)
    .replaceAll(/\\(?:([0-7]{3})|(.))/gs, (_, octal: string | undefined, letter: string) =>
      octal === undefined
        ? (named[letter] ?? letter)
        : String.fromCharCode(Number.parseInt(octal, 8)),
    )
}

async function runGit(args: readonly string[], { root, signal }: GitOptions): Promise<string> {
  const { stdout } = await runCommand('git', [...quiet, ...args], {
    cwd: root,
    deadline: limitMs,
    keep: keepBytes,
    ...(signal === undefined ? {} : { signal }),
  })
  return stdout
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? ''
}

function bad(target: string, problem: string): HeddleError {
  return new HeddleError('HDL_BAD_TARGET', { target, problem })
}
