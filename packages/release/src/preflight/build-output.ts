/**
 * The changes that scripts of a release have made in the work tree, for the process that resumes the release.
 *
 *   begin ─▶ scripts run ─▶ end: each changed file with its hash
 *     └─── killed: which files scripts have made is not known
 *
 * Invariants, quoted by the tests:
 *  BO1  A release starts from its commit: every change of the tree is refused.
 *  BO2  A release that is resumed also accepts the files that were changed when its last process ended, as long as
 *       they are the same.
 *  BO3  After a process that was killed it accepts every new file, and no change of a tracked one.
 */
import { lstat, mkdir, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { writeAtomic, type WaitOptions } from '@heddle/core/lowlevel'
import type { ChangedFile, Repository } from '../git/repository.ts'
import { mapLimited, readsAtOnce } from '../workspace/limited.ts'
import { isSettings } from './work-tree.ts'

interface Recorded {
  /** Hashes by path. */
  readonly files: Readonly<Record<string, string>>
  /** Whether a process began to run scripts and did not come to its end. */
  readonly isCut: boolean
}

/** More files than this are not recorded, and count as leftovers of a killed process. */
const mostFiles = 10_000

const nothing: Recorded = { files: {}, isCut: false }

export class BuildOutput {
  readonly #repository: Repository
  readonly #file: string
  readonly #recorded: Recorded

  private constructor(repository: Repository, file: string, recorded: Recorded) {
    this.#repository = repository
    this.#file = file
    this.#recorded = recorded
  }

  static async open(
    repository: Repository,
    file: string,
    { isResumed }: { readonly isResumed: boolean },
  ): Promise<BuildOutput> {
    return new BuildOutput(repository, file, isResumed ? await read(file) : nothing)
  }

  /** Files that neither the commit nor a script of this release explains, with Git's letters. */
  async unexplained(wait: WaitOptions = {}): Promise<string[]> {
    const changes = await this.#changes(wait)
    const { files, isCut } = this.#recorded
    const isRecorded = Object.keys(files).length > 0
    const hashes = isRecorded ? await this.#hashes(changes, wait) : new Map<string, string>()
    return changes
      .filter(({ isNew, file }) => !(isCut && isNew) && !isSame(hashes.get(file), files[file]))
      .map(({ letters, file }) => `${letters} ${file}`)
  }

  /** Durable before the first script runs. */
  async begin(): Promise<void> {
    await mkdir(path.dirname(this.#file), { recursive: true })
    await this.#write({ ...this.#recorded, isCut: true })
  }

  async end(wait: WaitOptions = {}): Promise<void> {
    const changes = await this.#changes(wait)
    if (changes.length > mostFiles) return
    const files = Object.fromEntries(await this.#hashes(changes, wait))
    await this.#write({ files, isCut: false })
  }

  async remove(): Promise<void> {
    await rm(this.#file, { force: true })
  }

  async #changes(wait: WaitOptions): Promise<ChangedFile[]> {
    const changes = await this.#repository.changedFiles(wait)
    return changes.filter(({ file }) => !isSettings(file))
  }

  async #write(recorded: Recorded): Promise<void> {
    await writeAtomic(this.#file, JSON.stringify(recorded))
  }

  /** Anything but a file has its kind instead of a hash. */
  async #hashes(
    changes: readonly ChangedFile[],
    wait: WaitOptions,
  ): Promise<ReadonlyMap<string, string>> {
    const kinds = await mapLimited(changes, readsAtOnce, ({ path: full }) => kindOf(full))
    const isPlain = ({ file }: ChangedFile, index: number): boolean =>
      kinds[index] === 'file' && !file.includes('\n')
    const plain = changes.filter(isPlain)
    const hashes = await this.#repository.hashes(
      plain.map((each) => each.path),
      wait,
    )
    return new Map([
      ...changes.map(({ file }, index) => [file, kinds[index]!] as const),
      ...plain.map(({ file }, index) => [file, hashes[index]!] as const),
    ])
  }
}

function isSame(now: string | undefined, then: string | undefined): boolean {
  return now !== undefined && now === then
}

async function kindOf(full: string): Promise<'file' | 'gone' | 'other'> {
  try {
    return (await lstat(full)).isFile() ? 'file' : 'other'
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'gone'
    throw error
  }
}

async function read(file: string): Promise<Recorded> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Recorded
  } catch (error) {
    // A release that an older version began.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { ...nothing, isCut: true }
    throw error
  }
}
