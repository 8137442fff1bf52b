/**
 * Releases that are killed with SIGKILL at random moments, each finished by the same command.
 *
 *   changesets ─▶ life, killed ─▶ life, killed ─▶ … ─▶ life that ends ─▶ checks ─▶ more changesets
 *
 * A life is killed after a random number of events, or after a random time, in the phase `version` or in
 * `publish`. Checked after each release:
 *  K1  every version is on the registry, and the registry accepted it once;
 *  K2  every version has its Git tag, here and on the remote;
 *  K3  one commit of versions for one round of changesets, and none of these is left;
 *  K4  the work tree is clean;
 *  K5  every version is announced at the forge, once.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { seededRandom, type Random } from '@heddle/core/lowlevel'
import { startFaultProxy, startVerdaccio, type FaultProxy } from '@heddle/release/testing'
import { startForge, type ForgeStandIn } from './forge.ts'
import { ReleasedRepository } from './repository.ts'

export interface KillReleasesOptions {
  readonly folder: string
  readonly kills: number
  readonly packages: number
  readonly seed: number
  readonly onKill?: (kills: number, where: string) => void
  /** The release under way is finished and checked, and there is no other one. */
  readonly signal?: AbortSignal
}

export interface KillReleasesReport {
  kills: number
  /** The source of the last event before each kill. */
  readonly at: Record<string, number>
  releases: number
  versions: number
  lives: number
  /** Lives that ended with an error and needed one more call. */
  errors: number
  lost: number
  doubled: number
  readonly problems: string[]
}

/** The servers that a life calls. */
interface Servers {
  readonly proxy: FaultProxy
  readonly forge: ForgeStandIn
}

/** Kills of one release before it is left to finish. */
const mostKills = 12
const mostErrors = 3

export async function killReleases(options: KillReleasesOptions): Promise<KillReleasesReport> {
  const { kills, packages, seed, signal } = options
  const random = seededRandom(seed)
  const report: KillReleasesReport = {
    kills: 0,
    at: {},
    releases: 0,
    versions: 0,
    lives: 0,
    errors: 0,
    lost: 0,
    doubled: 0,
    problems: [],
  }
  await using registry = await startVerdaccio()
  await using proxy = await startFaultProxy({ target: registry.url })
  await using forge = await startForge()
  const repository = new ReleasedRepository(options.folder, packages)
  const isOver = (): boolean =>
    report.kills >= kills || report.problems.length > 0 || signal?.aborted === true
  for (let round = 0; !isOver(); round++) {
    const chosen = repository.names.filter(() => random.next() < 0.6)
    if (round > 0) repository.change(round, chosen.length === 0 ? repository.names : chosen)
    const left = Math.min(mostKills, kills - report.kills)
    await release(repository, { proxy, forge }, left, random, report, options)
    report.releases++
    await check(repository, { proxy, forge }, registry.url, round, report)
  }
  return report
}

/** Lives until one ends by itself, and well. */
async function release(
  { root }: ReleasedRepository,
  { proxy, forge }: Servers,
  mostLives: number,
  random: Random,
  report: KillReleasesReport,
  { onKill, signal }: KillReleasesOptions,
): Promise<void> {
  let killed = 0
  for (let errors = 0; errors <= mostErrors;) {
    const isLast = killed >= mostLives || signal?.aborted === true
    const end = await live([root, proxy.url, forge.url], isLast ? undefined : random)
    report.lives++
    // Requests sent before the kill are with the registry, which may take its time on a busy machine.
    while (proxy.active > 0) await sleep(5)
    if (end.is === 'ended') return
    if (end.is === 'failed') {
      report.errors++
      errors++
      if (errors > mostErrors) report.problems.push(`it does not end well: ${end.said}`)
      continue
    }
    killed++
    report.kills++
    report.at[end.where] = (report.at[end.where] ?? 0) + 1
    onKill?.(report.kills, end.where)
  }
}

type LifeEnd =
  | { readonly is: 'ended' }
  | { readonly is: 'killed'; readonly where: string }
  | { readonly is: 'failed'; readonly said: string }

interface Message {
  readonly phase?: string
  readonly stage?: string
  readonly ok?: boolean
  readonly outcomes?: readonly string[]
}

/** Milliseconds after which a life of the phase `version` is killed, at most. */
const longestVersion = 600

async function live(args: readonly string[], random: Random | undefined): Promise<LifeEnd> {
  const child = fork(path.join(import.meta.dirname, 'child.ts'), args, {
    execArgv: ['--conditions=heddle-source'],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let said = ''
  child
    .stderr!.setEncoding('utf8')
    .on('data', (text: string) => (said = (said + text).slice(-2_000)))
  const isInVersion = random !== undefined && random.next() < 0.25
  const events =
    random === undefined || isInVersion ? Infinity : 1 + Math.floor(random.next() ** 2 * 120)
  const delay = random === undefined ? 0 : random.next() * (isInVersion ? longestVersion : 60)
  let where = 'start'
  let seen = 0
  let ending: Message | undefined
  const kill = (): void => {
    // A little later than the event: between two events, too.
    setTimeout(() => child.kill('SIGKILL'), delay)
  }
  child.on('message', (message: Message) => {
    if (message.ok !== undefined) ending = message
    where = message.stage ?? message.phase ?? where
    if (message.phase === 'version' && isInVersion) kill()
    if (message.stage !== undefined && ++seen === events) kill()
  })
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
  if (signal === 'SIGKILL') return { is: 'killed', where }
  if (code === 0 && ending?.ok === true) return { is: 'ended' }
  return { is: 'failed', said: `${ending?.outcomes?.join(', ') ?? ''} ${said}`.trim() }
}

async function check(
  repository: ReleasedRepository,
  { proxy, forge }: Servers,
  registry: string,
  round: number,
  report: KillReleasesReport,
): Promise<void> {
  const { problems } = report
  const tags = repository.tags()
  const remote = repository.remoteTags()
  for (const each of repository.versions()) {
    const [name, version] = each.split('@') as [string, string]
    const answer = await fetch(`${registry}/${name}/${version}`)
    if (!answer.ok) {
      report.lost++
      problems.push(`K1 ${each} is not on the registry`)
    }
    if (!tags.has(each) || !remote.has(each)) problems.push(`K2 ${each} has no tag`)
  }
  report.versions = proxy.uploads.size
  for (const [each, { accepted }] of proxy.uploads) {
    if (accepted === 1) continue
    report.doubled += Math.max(0, accepted - 1)
    problems.push(`K1 ${each} was accepted ${accepted} times`)
  }
  for (const each of repository.versions()) {
    const announced = forge.made.get(each) ?? 0
    if (announced !== 1) problems.push(`K5 ${each} was announced ${announced} times`)
  }
  const made = repository.git('log', '--format=%H', '--grep=^Heddle-Versions: ').split('\n')
  const commits = made.filter((line) => line !== '').length
  if (commits !== round) problems.push(`K3 ${commits} commits of versions after ${round} rounds`)
  const left = repository
    .git('ls-files', '.changeset')
    .split('\n')
    .filter((file) => file.endsWith('.md'))
  if (left.length > 0) problems.push(`K3 changesets are left: ${left.join(', ')}`)
  const status = repository.git('status', '--porcelain')
  if (status !== '') problems.push(`K4 the tree is dirty: ${status}`)
}
