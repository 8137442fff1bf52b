/**
 * The checks before anything of a release is built. All problems are reported at once.
 *
 *   work tree clean ─ branch ─ commit on the remote ─ account of each registry ─ notes
 *
 * Versions, Git tags and rights of each package are checked by its stage `check`: builds wait for all
 * of those. A release that was cut short passes: its published versions count as its own.
 */
import { HeddleError, isError } from '@heddle/core'
import type { WaitOptions } from '@heddle/core/lowlevel'
import picomatch from 'picomatch'
import type { Forge } from '../forge/forge.ts'
import type { Repository } from '../git/repository.ts'
import type { PlannedPackage } from '../model.ts'
import { provenanceProblem } from '../registry/npm/sign-provenance.ts'
import type { Account, Registry } from '../registry/registry.ts'
import type { BuildOutput } from './build-output.ts'
import { whyUnreadable } from './work-tree.ts'

export interface PreflightOptions {
  /** Publishes the files of the work tree although they differ from the commit. */
  readonly allowDirty?: boolean
  /** Publishes a commit that no remote has. */
  readonly allowUnpushed?: boolean
  /** Patterns of branches that are released from. Any branch when absent. */
  readonly branches?: readonly string[]
  readonly otp?: string
  /** A rehearsal may be made without the right to upload, such as for a change that is proposed. */
  readonly dryRun?: boolean
  /** Makes a Git tag for each package. Default true, where there is a repository. */
  readonly tag?: boolean
  /** Sends the tags to this remote. */
  readonly push?: string
  /** Where the release of each package is announced with its notes. Needs `push`: a forge knows pushed tags. */
  readonly forge?: Forge
  readonly env?: Readonly<Record<string, string | undefined>>
}

export interface PreflightProblem {
  readonly check: 'work tree' | 'branch' | 'remote' | 'account' | 'provenance' | 'notes'
  readonly problem: string
  readonly todo: string
}

export interface Preflight {
  readonly warnings: readonly string[]
  /** The user of each registry that names one, by address. */
  readonly users: ReadonlyMap<string, string>
}

export interface PreflightSubject {
  /** The folder of the workspace. */
  readonly root: string
  readonly repository: Repository | undefined
  readonly registries: Iterable<Registry>
  /** What scripts of an earlier process of this release left in the tree. Undefined outside of a repository. */
  readonly output: Pick<BuildOutput, 'unexplained'> | undefined
  /** Packages that get provenance, and where they go. */
  readonly signed?: readonly { readonly planned: PlannedPackage; readonly registry: Registry }[]
}

/**
 * *Cancellation*: leaves nothing behind.
 * @throws `HDL_PREFLIGHT` with all problems.
 */
export async function preflight(
  { root, repository, registries, output, signed = [] }: PreflightSubject,
  options: PreflightOptions,
  wait: WaitOptions,
): Promise<Preflight> {
  const problems: PreflightProblem[] = []
  const warnings: string[] = []
  const users = new Map<string, string>()
  if (repository !== undefined) {
    problems.push(...(await checkRepository(repository, output, options, wait)))
  } else if (options.allowDirty !== true) {
    problems.push(...(await checkUnreadable(root, wait)))
  }
  for (const registry of new Set(registries)) {
    const account = await accountOf(registry, wait)
    if (account === undefined) continue
    if (account.is === 'anonymous' && options.dryRun === true) {
      warnings.push(`The release itself would be refused: ${account.problem}. ${account.todo}`)
      continue
    }
    problems.push(...accountProblems(account))
    if (account.is !== 'known') continue
    users.set(registry.url, account.user)
    if (account.asksForOtp && options.otp === undefined) warnings.push(otpWarning(registry.url))
  }
  problems.push(...(await checkProvenance(signed, options, wait)), ...checkNotes(options))
  if (problems.length > 0) throw new HeddleError('HDL_PREFLIGHT', { problems })
  return { warnings, users }
}

/** A repository without a commit, or one that Git refuses to read, is not the same as none. */
async function checkUnreadable(root: string, wait: WaitOptions): Promise<PreflightProblem[]> {
  const reason = await whyUnreadable(root, wait)
  if (reason === undefined) return []
  const todo =
    reason === 'it has no commit'
      ? 'Commit the released files, or publish them with --allow-dirty.'
      : 'Make Git read it, or publish without tags and checks of the commit with --allow-dirty.'
  return [{ check: 'work tree', problem: reason, todo }]
}

async function checkRepository(
  repository: Repository,
  output: PreflightSubject['output'],
  options: PreflightOptions,
  wait: WaitOptions,
): Promise<PreflightProblem[]> {
  const problems: PreflightProblem[] = []
  const { allowDirty = false, allowUnpushed = false, branches, env = process.env } = options
  const changed = allowDirty ? [] : ((await output?.unexplained(wait)) ?? [])
  if (changed.length > 0) {
    const files = changed.slice(0, 5).map((line) => line.slice(3))
    const more = changed.length > files.length ? ` and ${changed.length - files.length} more` : ''
    problems.push({
      check: 'work tree',
      problem: `it differs from its commit in ${files.join(', ')}${more}`,
      todo: 'Commit or stash the changes, or publish them with --allow-dirty.',
    })
  }
  const branch = branches === undefined ? undefined : await branchOf(repository, env, wait)
  if (branches !== undefined && (branch === undefined || !picomatch([...branches])(branch))) {
    problems.push({
      check: 'branch',
      problem: `${branch ?? 'no branch'} is checked out`,
      todo: `Release from ${branches.join(' or ')}.`,
    })
  }
  if (!allowUnpushed && !(await repository.isPushed(wait))) {
    problems.push({
      check: 'remote',
      problem: `no remote has commit ${repository.head.slice(0, 12)}`,
      todo: 'Push the commit first, so that others see the published code, or add --allow-unpushed.',
    })
  }
  return problems
}

/** Refuses where npm does: outside of a build service, and for packages that are not public. */
async function checkProvenance(
  signed: NonNullable<PreflightSubject['signed']>,
  { env = process.env }: PreflightOptions,
  wait: WaitOptions,
): Promise<PreflightProblem[]> {
  if (signed.length === 0) return []
  const problem = provenanceProblem(env)
  if (problem !== undefined) return [{ check: 'provenance', ...problem }]
  const problems: PreflightProblem[] = []
  for (const { planned, registry } of signed) {
    const { name } = planned.package
    if (planned.access === 'public' || (await registry.isPublic?.(name, wait)) === true) continue
    problems.push({
      check: 'provenance',
      problem: `${name} is new or private`,
      todo: 'Set `publishConfig.access` to "public", or leave provenance out.',
    })
  }
  return problems
}

/** A forge makes a tag of its own for one that it does not know, and then refuses ours. */
function checkNotes({ forge, push, tag = true }: PreflightOptions): PreflightProblem[] {
  if (forge === undefined) return []
  const problems: PreflightProblem[] = []
  if (forge.lacks !== undefined) problems.push({ check: 'notes', ...forge.lacks })
  if (!tag) {
    const todo = 'Leave out `--no-tag`, or the notes with `--no-notes`.'
    problems.push({ check: 'notes', problem: 'they belong to Git tags, and none are made', todo })
  } else if (push === undefined) {
    const todo = 'Add `--push`, or leave out the notes with `--no-notes`.'
    problems.push({
      check: 'notes',
      problem: 'they belong to tags of the remote, and tags are not pushed',
      todo,
    })
  }
  return problems
}

/**
 * The branch that is released. Build services check out a commit and name its branch in a variable.
 *
 * *Cancellation*: leaves nothing behind.
 */
export async function branchOf(
  repository: Repository,
  env: Readonly<Record<string, string | undefined>>,
  wait: WaitOptions,
): Promise<string | undefined> {
  const checkedOut = await repository.branch(wait)
  return checkedOut ?? env['GITHUB_REF_NAME'] ?? env['CI_COMMIT_BRANCH']
}

/** Milliseconds for a registry to answer whose account this is, with all pauses that it asks for. */
const accountDeadline = 60_000

async function accountOf(registry: Registry, wait: WaitOptions): Promise<Account | undefined> {
  try {
    return await registry.account?.({ ...wait, deadline: accountDeadline })
  } catch (error) {
    const isRefused = isError(error, 'HDL_REGISTRY_RATE')
    if (!isRefused && !isError(error, 'HDL_TIMEOUT')) throw error
    const problem = isRefused
      ? error.message.replace(/\.$/, '')
      : `${registry.url} did not say within ${accountDeadline / 1_000} s which account the token belongs to, or asked for a longer pause`
    return { is: 'refused', problem, todo: 'Run the release again later.' }
  }
}

function accountProblems(account: Account): PreflightProblem[] {
  if (account.is !== 'refused' && account.is !== 'anonymous') return []
  return [{ check: 'account', problem: account.problem, todo: account.todo }]
}

function otpWarning(url: string): string {
  return `The account at ${url} asks for a one-time password for each write: pass --otp, or use a token that needs none.`
}
