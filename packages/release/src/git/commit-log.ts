/** Commits and tags of the history, as planners read them. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { HeddleError, isError } from '@heddle/core'
import type { WaitOptions } from '@heddle/core/lowlevel'
import { mapLimited } from '../workspace/limited.ts'
import { runGit } from './run-git.ts'

export interface Commit {
  readonly hash: string
  readonly parents: readonly string[]
  /** Whole, not only the first line. */
  readonly message: string
  /** From the root of the workspace, with `/`. A merge lists the changes against its first parent. */
  readonly files: readonly string[]
}

export interface Tag {
  readonly name: string
  /** The commit, also where the tag is an object of its own. */
  readonly commit: string
}

/** Tags with their commits, as far as `which` chooses them: an option of `git for-each-ref`. */
export async function readTags(
  folder: string,
  wait: WaitOptions,
  ...which: readonly string[]
): Promise<Tag[]> {
  const format = '--format=%(refname:strip=2)%00%(objectname)%00%(*objectname)'
  const text = await runGit(folder, ['for-each-ref', ...which, format, 'refs/tags'], wait)
  return text.split('\n').flatMap((line) => {
    const [name, object, target] = line.split('\0')
    return object === undefined ? [] : [{ name: name!, commit: target === '' ? object : target! }]
  })
}

/** Commits in one answer: some 50 KB, so that no answer takes the loop for long (0205). */
const pageSize = 256
const pagesAtOnce = 4

export class CommitLog {
  readonly #folder: string
  readonly #signal: AbortSignal | undefined

  constructor(folder: string, { signal }: { readonly signal?: AbortSignal | undefined }) {
    this.#folder = folder
    this.#signal = signal
  }

  /** Tags that the current commit contains. A release of another branch is not part of its past. */
  tags(): Promise<Tag[]> {
    return this.#tags('--merged=HEAD')
  }

  /** Tags of other branches. */
  otherTags(): Promise<Tag[]> {
    return this.#tags('--no-merged=HEAD')
  }

  async #tags(which: string): Promise<Tag[]> {
    const wait = this.#signal === undefined ? {} : { signal: this.#signal }
    return readTags(this.#folder, wait, which)
  }

  /** Versions that commits say to have made, in a trailer of this name: as tags on those commits. */
  async versionCommits(trailer: string): Promise<Tag[]> {
    const format = `--format=%H%x00%(trailers:key=${trailer},valueonly,separator=%x20,unfold)`
    const lines = await this.#lines(
      'log',
      `--grep=^${trailer}: `,
      '--no-color',
      format,
      'HEAD',
      '--',
    )
    return lines.flatMap((line) => {
      const [commit = '', names = ''] = line.split('\0')
      return names.split(' ').flatMap((name) => (name === '' ? [] : [{ name, commit }]))
    })
  }

  /** The commit that a name of the user means. */
  async resolve(name: string): Promise<string> {
    try {
      return (
        await this.#run('rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`)
      ).trim()
    } catch (error) {
      if (!isError(error, 'HDL_COMMAND_FAILED')) throw error
      throw new HeddleError('HDL_BAD_OPTION', {
        option: 'since',
        value: name,
        expected: 'a commit, branch or tag of this repository',
      })
    }
  }

  /** Hashes from the newest on, children before parents: all branches that were merged. */
  async hashes(since: readonly string[]): Promise<string[]> {
    return this.#lines(
      'rev-list',
      '--topo-order',
      'HEAD',
      ...since.map((commit) => `^${commit}`),
      '--',
    )
  }

  /** The newest commits that all of these contain. */
  async commonAncestors(commits: readonly string[]): Promise<string[]> {
    try {
      return await this.#lines('merge-base', '--all', '--octopus', ...commits)
    } catch (error) {
      // Exit code 1 without a word: they have nothing in common.
      if (isError(error, 'HDL_COMMAND_FAILED') && error.details.said === '') return []
      throw error
    }
  }

  /** Commits whose parents are missing in a shallow clone; empty for a whole one. */
  async cutAt(): Promise<ReadonlySet<string>> {
    const file = (await this.#run('rev-parse', '--git-path', 'shallow')).trim()
    const text = await readFile(path.resolve(this.#folder, file), 'utf8').catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return ''
        throw error
      },
    )
    return new Set(text.split('\n').filter((line) => line !== ''))
  }

  /** What `use` makes of each, in the order of the hashes. It is called while the next ones are read. */
  async commits<T>(hashes: readonly string[], use: (commit: Commit) => T): Promise<T[]> {
    const prefix = (await this.#run('rev-parse', '--show-prefix')).replace(/\n$/, '')
    const pages: string[][] = []
    for (let start = 0; start < hashes.length; start += pageSize) {
      pages.push(hashes.slice(start, start + pageSize))
    }
    const read = async (page: readonly string[]): Promise<T[]> =>
      (await this.#page(page, prefix)).map((commit) => use(commit))
    return (await mapLimited(pages, pagesAtOnce, read, this.#signal)).flat()
  }

  async #page(hashes: readonly string[], prefix: string): Promise<Commit[]> {
    const text = await this.#run(
      'log',
      '--no-walk=unsorted',
      '--no-show-signature',
      '--no-color',
      '--no-renames',
      '--no-ext-diff',
      '--no-relative',
      '--diff-merges=first-parent',
      '--name-only',
      '-z',
      // A message cannot hold the character 0, so it separates whatever people write.
      '--format=%x00%H%x00%P%x00%B',
      ...hashes,
      '--',
    )
    return parsePage(text, prefix)
  }

  async #lines(...args: readonly string[]): Promise<string[]> {
    return (await this.#run(...args)).split('\n').filter((line) => line !== '')
  }

  async #run(...args: readonly string[]): Promise<string> {
    const wait = this.#signal === undefined ? {} : { signal: this.#signal }
    return runGit(this.#folder, args, wait)
  }
}

/** An empty field, hash, parents, message, then files up to the next empty field. */
function parsePage(text: string, prefix: string): Commit[] {
  const fields = text.split('\0')
  const commits: Commit[] = []
  let at = 0
  while (at + 3 < fields.length) {
    const [hash, parents, message] = fields.slice(at + 1, at + 4)
    const files: string[] = []
    for (at += 4; at < fields.length && fields[at] !== ''; at++) {
      const file = fields[at]!.replace(/^\n/, '')
      if (file.startsWith(prefix)) files.push(file.slice(prefix.length))
    }
    commits.push({
      hash: hash!,
      parents: parents!.split(' ').filter((parent) => parent !== ''),
      message: message!,
      files,
    })
  }
  return commits
}
