/**
 * One tool, one fault: the tool publishes while the fault happens, then once more without it.
 *
 *   repository ─▶ command, with the fault ─▶ look ─▶ the same command, without it ─▶ look
 *
 * What is published is read as users see it, through the proxy that makes the fault: a version counts
 * when its archive can be fetched and has its hash.
 */
import { createHash, randomUUID } from 'node:crypto'
import { mkdir, symlink } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startFaultProxy, type FaultProxy, type LoggedRequest } from '@heddle/release/testing'
import type { Figures, Observation } from '../../../harness/row.ts'
import { workFolder } from '../../../servers/work-folder.ts'
import {
  caseLimit,
  commandLimit,
  nextVersion,
  version,
  workspace,
  type Fault,
} from '../conditions.ts'
import { peerModule } from '../tools/peer-program.ts'
import { pnpm, pnpmInstall } from '../tools/pnpm.ts'
import type { Tool } from '../tools/tool.ts'
import { broken, lettersOf, missingTags, untrue, wrongs, type JudgedRun } from './judge.ts'
import { Repository } from './repository.ts'
import { runProgram, type Ended } from './run-program.ts'

/** Milliseconds between two checks whether something has happened in another process. */
const lookEvery = 20

/** Milliseconds that the registry has to show one package. */
const longestLook = 30_000

export async function playCase(tool: Tool, fault: Fault, registry: string): Promise<Figures> {
  const until = performance.now() + caseLimit
  await using proxy = await startFaultProxy({ target: registry })
  const scope = `case-${randomUUID().slice(0, 8)}`
  const { files } = tool
  const repository = new Repository({
    folder: await workFolder(),
    scope,
    registry: proxy.url,
    files,
    isUnreproducible: fault.secondClone === true,
  })
  await repository.write()
  if (tool.isLinked || fault.before === 'published-by-another-tool') await link(repository, until)
  await linkModules(repository, tool)
  await repository.commit()
  const planned = new Map(Object.keys(workspace).map((letter) => [letter, version]))
  if (fault.before === 'published-by-another-tool') {
    await publishByPnpm(repository, until)
    await repository.bump(nextVersion)
    planned.set('b', nextVersion)
  }
  if (fault.before === 'dirty') await repository.edit()
  const command = tool.commandFor?.(planned.get('b')!) ?? tool.command
  const earlier = proxy.log.length

  const b = repository.nameOf('b')
  const { rule, archive } = fault
  if (rule !== undefined) proxy.rules.add({ ...rule, method: 'PUT', package: b })
  if (archive !== undefined) proxy.rules.add({ ...archive, path: /\/b-[^/]*\.tgz$/ })
  const isUploaded = fault.interrupts === true ? uploadOf(b, proxy) : undefined
  const first = await runProgram(command, {
    ...limitsIn(repository, until),
    ...(isUploaded !== undefined && { interruption: isUploaded.seen }),
  })
  isUploaded?.stop()
  const before = await look(tool, first, repository, { proxy, planned, until })
  proxy.rules.clear()
  if (fault.before === 'dirty') await repository.restore()
  const where = fault.secondClone === true ? await repository.clone() : repository
  if (where !== repository && tool.isLinked) await link(where, until)
  if (where !== repository) await linkModules(where, tool)
  const second = await runProgram(command, limitsIn(where, until))
  const after = await look(tool, second, where, { proxy, planned, until })

  const missing = missingTags(
    after.published.filter((letter) => wasPlanned(fault, letter)),
    await where.tags(),
    (each) => {
      const [name, of] = [repository.nameOf(each), planned.get(each)!]
      return tool.tagOf?.(name, of) ?? `${name}@${of}`
    },
  )
  const { sent, accepted } = proxy.uploads.get(`${b}@${planned.get('b')!}`) ?? zero
  const doubleUploads = doublesIn(proxy.log.slice(earlier))
  const isDirty = fault.before === 'dirty'
  const found = wrongs({
    first: before,
    second: after,
    missingTags: missing,
    doubleUploads,
    isDirty,
  })
  return {
    value: after.published.length,
    also: {},
    observed: {
      command: tool.title,
      ...before,
      rerun: { ...after, missingTags: missing },
      uploadsOfB: { sent, accepted },
      doubleUploads,
      isRight: found.length === 0,
      wrongs: found,
    },
  }
}

const zero = { sent: 0, accepted: 0 }

/** A package that another tool has published has no tag of this one. */
function wasPlanned({ before }: Fault, letter: string): boolean {
  return before !== 'published-by-another-tool' || letter === 'b'
}

/** Uploads that the registry refused because it has the version, or took a second time. */
function doublesIn(log: readonly LoggedRequest[]): number {
  const uploads = log.filter(({ isUpload }) => isUpload)
  const taken = new Set<string>()
  let doubles = 0
  for (const { package: name = '', version: of = '', registryAnswer = 0 } of uploads) {
    const isTaken = registryAnswer >= 200 && registryAnswer < 300
    if (taken.has(`${name}@${of}`) && registryAnswer > 0) doubles++
    if (isTaken) taken.add(`${name}@${of}`)
  }
  return doubles
}

async function publishByPnpm(repository: Repository, until: number): Promise<void> {
  const command = { ...pnpm.command, args: [...pnpm.command.args, '--no-git-checks'] }
  const { exit, stdout, stderr } = await runProgram(command, limitsIn(repository, until))
  if (exit !== 0) throw new Error(`pnpm publish ended with ${exit}: ${stdout}${stderr}`)
}

/** `until`: when all commands of the case must have ended, on the clock of this process. */
export function limitsIn(
  { root: cwd, env }: Repository,
  until: number,
): {
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly limit: number
} {
  const left = Math.max(1, until - performance.now())
  return { cwd, env, limit: Math.min(commandLimit, left) }
}

export async function link(repository: Repository, until: number): Promise<void> {
  const { exit, stdout, stderr } = await runProgram(pnpmInstall, limitsIn(repository, until))
  if (exit !== 0) throw new Error(`pnpm install ended with ${exit}: ${stdout}${stderr}`)
}

async function linkModules({ root }: Repository, { modules = [] }: Tool): Promise<void> {
  for (const name of modules) {
    const to = path.join(root, 'node_modules', name)
    await mkdir(path.dirname(to), { recursive: true })
    await symlink(peerModule(name), to)
  }
}

/** When an upload of the package has arrived whole and has not been answered yet. */
function uploadOf(name: string, proxy: FaultProxy): { seen: Promise<void>; stop: () => void } {
  let isStopped = false
  const wait = async (): Promise<void> => {
    while (!isStopped && !proxy.uploads.has(`${name}@${version}`)) await sleep(lookEvery)
  }
  return { seen: wait(), stop: () => (isStopped = true) }
}

type Seen = Observation & JudgedRun

interface Around {
  readonly proxy: FaultProxy
  readonly planned: ReadonlyMap<string, string>
  readonly until: number
}

async function look(
  tool: Tool,
  ended: Ended,
  repository: Repository,
  { proxy, planned, until }: Around,
): Promise<Seen> {
  // Requests of a dead program may still arrive.
  while (proxy.active > 0 && performance.now() < until) await sleep(lookEvery)
  const published: string[] = []
  for (const [letter, of] of planned) {
    if (await isInstallable(repository.nameOf(letter), of, proxy.url)) published.push(letter)
  }
  const { message, ...reported } = lettersOf(tool.read(ended))
  const changes = await repository.changes()
  return {
    exit: ended.exit,
    published,
    broken: broken(published),
    reported,
    untrue: untrue(reported, published),
    treeClean: changes.length === 0,
    changedFiles: changes.length,
    seconds: ended.seconds,
    message: message.slice(0, 200),
  }
}

/** Through the proxy, as users see it: the version is listed, and its archive has the hash that is listed. */
async function isInstallable(name: string, of: string, registry: string): Promise<boolean> {
  const limit = { signal: AbortSignal.timeout(longestLook) }
  const answer = await fetch(`${registry}/${name.replace('/', '%2F')}`, limit)
  const { versions = {} } = (await answer.json()) as {
    versions?: Record<string, { dist: { tarball: string; integrity: string } }>
  }
  const dist = versions[of]?.dist
  if (!answer.ok || dist === undefined) return false
  const archive = await fetch(dist.tarball, limit)
  if (!archive.ok) return false
  const bytes = Buffer.from(await archive.arrayBuffer())
  return dist.integrity === `sha512-${createHash('sha512').update(bytes).digest('base64')}`
}
