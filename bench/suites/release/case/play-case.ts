/**
 * One tool, one fault: the tool publishes while the fault happens, then once more without it.
 *
 *   repository ─▶ command, with the fault ─▶ look ─▶ the same command, without it ─▶ look
 *
 * What is published is read from the registry itself, past the proxy that makes the fault.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { randomUUID } from 'node:crypto'
import { startFaultProxy, type FaultProxy } from '@heddle/release/testing'
import type { Figures, Observation } from '../../../harness/row.ts'
import { workFolder } from '../../../servers/work-folder.ts'
import { commandLimit, version, workspace, type Fault } from '../conditions.ts'
import { pnpmInstall } from '../tools/pnpm.ts'
import type { Tool } from '../tools/tool.ts'
import { broken, lettersOf, missingTags, untrue } from './judge.ts'
import { Repository } from './repository.ts'
import { runProgram, type Ended } from './run-program.ts'

/** Milliseconds between two looks whether something has happened in another process. */
const lookEvery = 20

export async function playCase(tool: Tool, fault: Fault, registry: string): Promise<Figures> {
  await using proxy = await startFaultProxy({ target: registry })
  const scope = `case-${randomUUID().slice(0, 8)}`
  const { files } = tool
  const repository = new Repository({
    folder: await workFolder(),
    scope,
    registry: proxy.url,
    files,
  })
  await repository.write()
  if (tool.isLinked) await link(repository)
  await repository.commit()

  const b = repository.nameOf('b')
  if (fault.rule !== undefined) proxy.rules.add({ ...fault.rule, method: 'PUT', package: b })
  const isUploaded = fault.interrupts === true ? uploadOf(b, proxy) : undefined
  const first = await runProgram(tool.command, {
    ...limitsIn(repository),
    ...(isUploaded !== undefined && { interruption: isUploaded.seen }),
  })
  isUploaded?.stop()
  const before = await look(tool, first, repository, proxy, registry)
  proxy.rules.clear()
  const second = await runProgram(tool.command, limitsIn(repository))
  const after = await look(tool, second, repository, proxy, registry)

  const { sent, accepted } = proxy.uploads.get(`${b}@${version}`) ?? { sent: 0, accepted: 0 }
  const missing = missingTags(after.published, await repository.tags(), (each) =>
    repository.nameOf(each),
  )
  return {
    value: after.published.length,
    also: {},
    observed: {
      command: tool.title,
      ...before,
      rerun: { ...after, missingTags: missing },
      uploadsOfB: { sent, accepted },
    },
  }
}

function limitsIn({ root: cwd, env }: Repository): {
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly limit: number
} {
  return { cwd, env, limit: commandLimit }
}

async function link(repository: Repository): Promise<void> {
  const { exit, stdout, stderr } = await runProgram(pnpmInstall, limitsIn(repository))
  if (exit !== 0) throw new Error(`pnpm install ended with ${exit}: ${stdout}${stderr}`)
}

/** When an upload of the package has arrived whole and has not been answered yet. */
function uploadOf(name: string, proxy: FaultProxy): { seen: Promise<void>; stop: () => void } {
  let isStopped = false
  const wait = async (): Promise<void> => {
    while (!isStopped && !proxy.uploads.has(`${name}@${version}`)) await sleep(lookEvery)
  }
  return { seen: wait(), stop: () => (isStopped = true) }
}

interface Seen extends Observation {
  readonly published: readonly string[]
}

async function look(
  tool: Tool,
  ended: Ended,
  repository: Repository,
  proxy: FaultProxy,
  registry: string,
): Promise<Seen> {
  // What a program that is gone has sent may still arrive.
  while (proxy.active > 0) await sleep(lookEvery)
  const published: string[] = []
  for (const letter of Object.keys(workspace)) {
    if (await isPublished(repository.nameOf(letter), registry)) published.push(letter)
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

async function isPublished(name: string, registry: string): Promise<boolean> {
  const answer = await fetch(`${registry}/${name.replace('/', '%2F')}`)
  const { versions = {} } = (await answer.json()) as { versions?: Record<string, unknown> }
  return answer.ok && version in versions
}
