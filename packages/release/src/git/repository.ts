/** What a release asks Git for, and the tags it makes. Outside of a repository there are none. */
import { HeddleError, isError } from '@heddle/core'
import { runCommand, systemKernel, type WaitOptions } from '@heddle/core/lowlevel'
import type { Workspace } from '../model.ts'
import { Patience } from '../registry/wait.ts'

export class Repository {
  readonly root: string
  /** The commit that is released. */
  readonly head: string

  private constructor(root: string, head: string) {
    this.root = root
    this.head = head
  }

  /** Undefined outside of a repository, and in one without a commit. */
  static async open(root: string, wait: WaitOptions = {}): Promise<Repository | undefined> {
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

  /** Commits these files as they are, the removed ones too, and returns the new commit. */
  async commit(files: readonly string[], message: string, wait: WaitOptions = {}): Promise<string> {
    await runGit(this.root, ['update-index', '--add', '--remove', '--', ...files], wait)
    await runGit(this.root, ['commit', '--quiet', '--message', message], wait)
    return (await runGit(this.root, ['rev-parse', '--verify', 'HEAD'], wait)).trim()
  }

  /** When the released commit was made, in milliseconds since 1970. */
  async committedAt(wait: WaitOptions = {}): Promise<number> {
    const text = await runGit(this.root, ['log', '-1', '--format=%ct', this.head], wait)
    return Number(text) * 1_000
  }

  /** The branch that is checked out; undefined for a commit alone. */
  async branch(wait: WaitOptions = {}): Promise<string | undefined> {
    const name = (await runGit(this.root, ['rev-parse', '--abbrev-ref', 'HEAD'], wait)).trim()
    return name === 'HEAD' ? undefined : name
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
    const format = '--format=%(refname:strip=2)%00%(objectname)%00%(*objectname)'
    const text = await runGit(this.root, ['for-each-ref', format, 'refs/tags'], wait)
    const tags = new Map<string, string>()
    for (const line of text.split('\n')) {
      const [name, object, target] = line.split('\0')
      if (object !== undefined) tags.set(name!, target === '' ? object : target!)
    }
    return tags
  }

  /**
   * Makes a tag on the released commit, unless there is one of that name.
   *
   * Whether the existing one stands for the same commit is not asked: a release that is finished on a
   * later commit keeps the tags it has.
   */
  async tag(name: string, message: string, wait: WaitOptions = {}): Promise<'made' | 'there'> {
    const target = [name, this.head]
    const annotated = ['tag', '--annotate', '--no-sign', '--message', message, ...target]
    // Without a message for those who have no name, as build machines: one needs somebody who made it.
    for (const args of [annotated, ['tag', ...target]]) {
      try {
        await runGit(this.root, args, wait)
        return 'made'
      } catch (error) {
        if (!isError(error, 'HDL_COMMAND_FAILED')) throw error
        // Git itself refuses a second tag of a name: asking first would leave a gap.
        if ((await this.tags(wait)).has(name)) return 'there'
        if (args !== annotated) throw error
      }
    }
    return 'made'
  }

  /** Sends tags to a remote, all in one request. */
  async push(remote: string, tags: readonly string[], wait: WaitOptions = {}): Promise<void> {
    const refs = tags.map((tag) => `refs/tags/${tag}`)
    await runGit(this.root, ['push', remote, ...refs], wait)
  }
}

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '')
}

const mostTries = 4
/** Milliseconds, more with each try. */
const lockPause = 500

/** More than any repository has to say here. */
const longestAnswer = 64 * 2 ** 20

/** What Git says. Nothing is asked in the terminal: a remote that wants a password refuses. */
export async function runGit(
  root: string,
  args: readonly string[],
  wait: WaitOptions,
): Promise<string> {
  const { signal, deadline } = wait
  for (let tries = 1; ; tries++) {
    try {
      const { stdout } = await runCommand('git', args, {
        cwd: root,
        env: { ...process.env, GIT_TERMINAL_PROMPT: '0' },
        keep: longestAnswer,
        ...(signal !== undefined && { signal }),
        ...(deadline !== undefined && { deadline }),
      })
      return stdout
    } catch (error) {
      // A Ctrl+C reaches a process that is just being started, before it has a group of its own. All
      // that Git is asked here can be asked again.
      const isFailure = isError(error, 'HDL_COMMAND_FAILED')
      const isInterrupted = isFailure && /SIGINT/.test(error.message)
      // The Git of a process that was killed may still be at work, for a moment.
      const isLocked = isFailure && /\.lock': File exists|cannot lock ref/.test(error.message)
      if ((!isInterrupted && !isLocked) || tries === mostTries) throw error
      if (isLocked) await new Patience('git', systemKernel, wait).sleep(lockPause * tries)
    }
  }
}

/** How Git tags are called: `{name}@{version}`, `v{version}`, `{name}-v{version}`. */
export function tagFormatOf(tool: Workspace['tool'], format: string | undefined): string {
  return format ?? (tool === 'single' ? 'v{version}' : '{name}@{version}')
}

/** @throws `HDL_BAD_OPTION` for a format without a version: every release would have the same tag. */
export function checkTagFormat(format: string): void {
  if (format.split('{version}').length === 2) return
  const expected = 'a text with {version}, such as "{name}@{version}"'
  throw new HeddleError('HDL_BAD_OPTION', { option: 'tagFormat', value: format, expected })
}

export function tagName(name: string, version: string, format: string): string {
  return format.replaceAll('{name}', () => name).replaceAll('{version}', () => version)
}
