/** The questions of a release to Git, and the tags it makes. Outside of a repository there are none. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { isError } from '@heddle/core'
import type { WaitOptions } from '@heddle/core/lowlevel'
import { readTags } from './commit-log.ts'
import { refuseForeignRepository } from './foreign-repository.ts'
import { runGit } from './run-git.ts'

export interface ChangedFile {
  /** How it differs, in Git's two letters. */
  readonly letters: string
  /** From the top of the repository. */
  readonly file: string
  readonly path: string
  /** Whether the commit does not have it. */
  readonly isNew: boolean
}

export class Repository {
  readonly root: string
  /** The commit that is released. */
  readonly head: string
  /** null until Git was asked; the same for all tags of a release. */
  #knownTagger: string | undefined | null = null
  /** Undefined until Git was asked. */
  #isSigning: boolean | undefined

  private constructor(root: string, head: string) {
    this.root = root
    this.head = head
  }

  /**
   * Undefined outside of a repository, and in one without a commit.
   * @throws `HDL_PREFLIGHT` when variables name another repository.
   */
  static async open(root: string, wait: WaitOptions = {}): Promise<Repository | undefined> {
    await refuseForeignRepository(root, wait)
    try {
      const head = await runGit(root, ['rev-parse', '--verify', 'HEAD^{commit}'], wait)
      return new Repository(root, head.trim())
    } catch (error) {
      if (isError(error, 'HDL_COMMAND_FAILED')) return undefined
      throw error
    }
  }

  /** Files that differ from the commit, as Git prints them; with `untracked`, also new ones. */
  async changes({
    untracked = false,
    ...wait
  }: WaitOptions & { readonly untracked?: boolean } = {}): Promise<string[]> {
    const which = `--untracked-files=${untracked ? 'normal' : 'no'}`
    const text = await runGit(this.root, ['status', '--porcelain', which], wait)
    return lines(text)
  }

  /** Those of these files, from the root of the workspace, that differ from the commit. */
  async changesOf(files: readonly string[], wait: WaitOptions = {}): Promise<string[]> {
    const text = await runGit(this.root, ['status', '--porcelain', '--', ...files], wait)
    return lines(text)
  }

  /** Every file that differs from the commit, new ones in new folders too. */
  async changedFiles(wait: WaitOptions = {}): Promise<ChangedFile[]> {
    const args = ['status', '--porcelain', '-z', '--no-renames', '--untracked-files=all']
    const entries = (await runGit(this.root, args, wait)).split('\0').filter(Boolean)
    if (entries.length === 0) return []
    const top = (await runGit(this.root, ['rev-parse', '--show-toplevel'], wait)).trimEnd()
    return entries.map((entry) => {
      const [letters, file] = [entry.slice(0, 2), entry.slice(3)]
      return { letters, file, path: path.join(top, file), isNew: letters === '??' }
    })
  }

  /** Those of these paths that Git ignores, whether they are there or not. A folder ends with `/`. */
  async ignored(paths: readonly string[], wait: WaitOptions = {}): Promise<ReadonlySet<string>> {
    try {
      const args = ['check-ignore', '--no-index', '-z', '--stdin']
      const text = await runGit(this.root, args, wait, `${paths.join('\0')}\0`)
      return new Set(text.split('\0').filter(Boolean))
    } catch (error) {
      // It ends with 1 when it ignores none of them.
      if (isError(error, 'HDL_COMMAND_FAILED')) return new Set()
      throw error
    }
  }

  /** What Git would store of each file, without reading its attributes. */
  async hashes(files: readonly string[], wait: WaitOptions = {}): Promise<string[]> {
    if (files.length === 0) return []
    const args = ['hash-object', '--no-filters', '--stdin-paths']
    return lines(await runGit(this.root, args, wait, `${files.join('\n')}\n`))
  }

  /** Files below the root of the workspace that the commit has. */
  async trackedFiles(wait: WaitOptions = {}): Promise<string[]> {
    const names = (await runGit(this.root, ['ls-files', '-z'], wait)).split('\0').filter(Boolean)
    return names.map((name) => path.join(this.root, name))
  }

  /** Commits these files as they are, the removed ones too, and returns the new commit. */
  async commit(files: readonly string[], message: string, wait: WaitOptions = {}): Promise<string> {
    await runGit(this.root, ['update-index', '--add', '--remove', '--', ...files], wait)
    await runGit(this.root, ['commit', '--quiet', '--message', message], wait)
    return (await runGit(this.root, ['rev-parse', '--verify', 'HEAD'], wait)).trim()
  }

  /** Whether this clone has a commit. */
  async hasCommit(commit: string, wait: WaitOptions = {}): Promise<boolean> {
    try {
      await runGit(this.root, ['cat-file', '-e', `${commit}^{commit}`], wait)
      return true
    } catch (error) {
      if (isError(error, 'HDL_COMMAND_FAILED')) return false
      throw error
    }
  }

  /** When the released commit was made, in milliseconds since 1970. */
  async committedAt(wait: WaitOptions = {}): Promise<number> {
    const text = await runGit(this.root, ['log', '-1', '--format=%ct', this.head], wait)
    return Number(text) * 1_000
  }

  /** The branch that is checked out; undefined for a commit alone. */
  async branch(wait: WaitOptions = {}): Promise<string | undefined> {
    // Not `--abbrev-ref`: beside a tag of the same name it answers `heads/main`.
    const args = ['rev-parse', '--symbolic-full-name', 'HEAD']
    const name = (await runGit(this.root, args, wait)).trim()
    return name.startsWith(branches) ? name.slice(branches.length) : undefined
  }

  /**
   * Whether a remote has the commit, as far as this clone knows; else the remotes are asked for their
   * branches and tags. True where there are no remotes.
   */
  async isPushed(wait: WaitOptions = {}): Promise<boolean> {
    const remotes = lines(await runGit(this.root, ['remote'], wait))
    if (remotes.length === 0) return true
    const contains = ['for-each-ref', '--count=1', `--contains=${this.head}`, 'refs/remotes']
    if (lines(await runGit(this.root, contains, wait)).length > 0) return true
    for (const remote of remotes) {
      const refs = await runGit(this.root, ['ls-remote', '--heads', '--tags', remote], wait)
      if (refs.includes(this.head)) return true
    }
    return false
  }

  /** The remote that clones share: `origin`, or the only one. */
  async sharedRemote(wait: WaitOptions = {}): Promise<string | undefined> {
    const remotes = lines(await runGit(this.root, ['remote'], wait))
    if (remotes.includes('origin')) return 'origin'
    return remotes.length === 1 ? remotes[0] : undefined
  }

  /** Tags by name, with the commit each stands for. */
  async tags(wait: WaitOptions = {}): Promise<ReadonlyMap<string, string>> {
    const tags = await readTags(this.root, wait)
    return new Map(tags.map(({ name, commit }) => [name, commit]))
  }

  /** The same of a remote. */
  async remoteTags(remote: string, wait: WaitOptions = {}): Promise<ReadonlyMap<string, string>> {
    const tags = new Map<string, string>()
    const text = await runGit(this.root, ['ls-remote', '--tags', remote], wait)
    for (const line of lines(text)) {
      // An annotated tag has a second line, with its commit.
      const [, id, name] = /^(\w+)\trefs\/tags\/(.*?)(?:\^\{\})?$/.exec(line) ?? []
      if (id !== undefined) tags.set(name!, id)
    }
    return tags
  }

  /**
   * Makes tags on the released commit, or another one, by name with their messages, and returns the names of those it
   * made. All of them with two processes of Git, whatever their number: starting one takes longer than
   * its work. With `tag.gpgSign` Git makes and signs them one by one.
   *
   * A tag that exists stays as it is. Whether it stands for the same commit is not asked: a release
   * that is finished on a later commit keeps the tags it has.
   *
   * *Cancellation*: ends Git; either all of these tags are made or none, or some where they are signed.
   */
  async makeTags(
    messages: ReadonlyMap<string, string>,
    wait: WaitOptions = {},
    commit: string = this.head,
  ): Promise<ReadonlySet<string>> {
    if (await this.#signsTags(wait)) return this.#signTags(messages, commit, wait)
    let missing = messages
    for (let tries = 1; ; tries++) {
      try {
        await this.#createRefs(await this.#tagObjects(missing, commit, wait), wait)
        return new Set(missing.keys())
      } catch (error) {
        if (!isError(error, 'HDL_COMMAND_FAILED')) throw error
        // Git creates none of them when one exists already: asking first would leave a gap.
        const there = await this.tags(wait)
        const left = new Map([...missing].filter(([name]) => !there.has(name)))
        if (left.size === 0) return new Set()
        if (left.size === missing.size || tries === mostTries) throw error
        missing = left
      }
    }
  }

  /** Git signs only tags that it makes itself, one process for each. */
  async #signTags(
    messages: ReadonlyMap<string, string>,
    commit: string,
    wait: WaitOptions,
  ): Promise<ReadonlySet<string>> {
    const made = new Set<string>()
    for (const [name, message] of messages) {
      try {
        await runGit(this.root, ['tag', '--sign', '--message', message, '--', name, commit], wait)
        made.add(name)
      } catch (error) {
        if (!isError(error, 'HDL_COMMAND_FAILED')) throw error
        if (!(await this.tags(wait)).has(name)) throw error
      }
    }
    return made
  }

  /** Whether the user has asked Git to sign every tag. */
  async #signsTags(wait: WaitOptions): Promise<boolean> {
    if (this.#isSigning === undefined) {
      const args = ['config', '--type=bool', '--default=false', '--get', 'tag.gpgSign']
      this.#isSigning = (await runGit(this.root, args, wait)).trim() === 'true'
    }
    return this.#isSigning
  }

  /** The object that each tag points to: one with the message, or the commit where Git knows no user. */
  async #tagObjects(
    messages: ReadonlyMap<string, string>,
    commit: string,
    wait: WaitOptions,
  ): Promise<ReadonlyMap<string, string>> {
    const tagger = await this.#tagger(wait)
    const names = [...messages.keys()]
    if (tagger === undefined) return new Map(names.map((name) => [name, commit]))
    const folder = await mkdtemp(path.join(os.tmpdir(), 'heddle-tags-'))
    try {
      const files = names.map((_, index) => path.join(folder, String(index)))
      for (const [index, [name, message]] of [...messages].entries()) {
        const head = [`object ${commit}`, 'type commit', `tag ${name}`, `tagger ${tagger}`]
        await writeFile(files[index]!, `${head.join('\n')}\n\n${message}\n`)
      }
      const args = ['hash-object', '-t', 'tag', '-w', '--no-filters', '--stdin-paths']
      const ids = lines(await runGit(this.root, args, wait, `${files.join('\n')}\n`))
      return new Map(names.map((name, index) => [name, ids[index]!]))
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  /** In one transaction. */
  async #createRefs(objects: ReadonlyMap<string, string>, wait: WaitOptions): Promise<void> {
    const commands = Array.from(objects, ([name, id]) => `create refs/tags/${name}\0${id}\0`)
    await runGit(this.root, ['update-ref', '--stdin', '-z'], wait, commands.join(''))
  }

  /** Name, address and time, as Git writes them into a tag. Build machines often have no name. */
  async #tagger(wait: WaitOptions): Promise<string | undefined> {
    if (this.#knownTagger !== null) return this.#knownTagger
    try {
      this.#knownTagger = (await runGit(this.root, ['var', 'GIT_COMMITTER_IDENT'], wait)).trim()
    } catch (error) {
      if (!isError(error, 'HDL_COMMAND_FAILED')) throw error
      this.#knownTagger = undefined
    }
    return this.#knownTagger
  }

  /** Sends tags to a remote, all in one request. */
  async push(remote: string, tags: readonly string[], wait: WaitOptions = {}): Promise<void> {
    const refs = tags.map((tag) => `refs/tags/${tag}`)
    await runGit(this.root, ['push', remote, ...refs], wait)
  }
}

const branches = 'refs/heads/'

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '')
}

/** How often tags are tried again when another process makes some of them at the same time. */
const mostTries = 4
