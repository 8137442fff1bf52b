import { releaseStatus, type PackageStatus, type ReleaseStatus } from '@heddle/release'
import type { PlanFlags } from '../commands/release.ts'
import { exitCodes } from '../exit-codes.ts'
import { span } from '../view/line.ts'
import { answering } from './answering.ts'
import { readPlan, registriesFor } from './plan-source.ts'
import { readSettings, withConfig } from './settings.ts'

/** Milliseconds that a registry has for each answer, with all pauses that it asks for. */
const answerDeadline = 60_000

export async function printStatus(flags: PlanFlags): Promise<void> {
  await answering(flags, async ({ tell, result }) => {
    const settings = await readSettings()
    const plan = await readPlan(flags, settings)
    await using registries = await registriesFor(settings, flags)
    const { tagFormat } = withConfig(flags, settings.config)
    const status = await releaseStatus(plan, {
      deadline: answerDeadline,
      registryOf: (planned) => registries.registryOf(planned),
      ...(tagFormat !== undefined && { tagFormat }),
    })
    const ok = status.packages.every(({ isPublished }) => isPublished)
    const lines = status.packages.map((each) => lineOf(each, status))
    tell([...lines, ...aroundIt(status)].map((text) => [span(text)]))
    result({ ok, ...status })
    return ok ? exitCodes.ok : exitCodes.failed
  })
}

function aroundIt({ last, holder }: ReleaseStatus): string[] {
  const lines: string[] = []
  if (last !== undefined) {
    const { run, state, succeeded, stages } = last
    lines.push(`last release ${run}: ${state}, ${succeeded} of ${stages} stages done`)
  }
  if (holder !== undefined) {
    const { pid, hostname, user, startedAt } = holder
    lines.push(`a release is running: process ${pid} of ${user} on ${hostname}, since ${startedAt}`)
  }
  return lines
}

function lineOf(
  { name, version, isPublished, tagged, deprecated, tag }: PackageStatus,
  { isRepository }: ReleaseStatus,
): string {
  const notes = [
    isPublished ? 'published' : 'not published',
    ...(isPublished && tagged !== version
      ? [`the dist-tag points to ${tagged ?? 'no version'}`]
      : []),
    ...(deprecated !== undefined ? [`deprecated: ${deprecated}`] : []),
    ...(isPublished && isRepository && tag === undefined ? ['no Git tag'] : []),
  ]
  return `${name}@${version}  ${notes.join(', ')}`
}
