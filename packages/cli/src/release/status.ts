import { releaseStatus, type PackageStatus, type ReleaseStatus } from '@heddle/release'
import type { Typed } from './release-flags.ts'
import type { PlanFlags } from './flag-types.ts'
import { exitCodes } from '../exit-codes.ts'
import { plural } from '../text/format.ts'
import { span } from '../text/line.ts'
import { answering } from './answering.ts'
import { readPlan, registriesFor } from './plan-source.ts'
import { chosenFrom } from './release-settings.ts'

/** Milliseconds that a registry has for each answer, with all pauses that it asks for. */
const answerDeadline = 60_000

export async function printStatus(typed: Typed<PlanFlags>): Promise<void> {
  await answering(typed, async ({ flags, printLines, result, settings: read }) => {
    const settings = await read()
    const plan = await readPlan(flags, settings)
    await using registries = await registriesFor(settings, flags)
    const { tagFormat } = chosenFrom(flags, settings.config)
    const status = await releaseStatus(plan, {
      deadline: answerDeadline,
      registryOf: (planned) => registries.registryOf(planned),
      ...(tagFormat !== undefined && { tagFormat }),
    })
    const ok = status.packages.every(({ isPublished }) => isPublished)
    const lines = status.packages.map((each) => lineOf(each, status))
    printLines([...lines, ...surroundings(status)].map((text) => [span(text)]))
    result({ ok, ...status })
    return ok ? exitCodes.ok : exitCodes.failed
  })
}

function surroundings({ last, holder }: ReleaseStatus): string[] {
  const lines: string[] = []
  if (last !== undefined) {
    const { run, state, done, packages } = last
    lines.push(`last release ${run}: ${state}, ${done} of ${plural(packages, 'package')} done`)
  }
  if (holder !== undefined) {
    const { pid, hostname, user, startedAt } = holder
    lines.push(`a release is running: process ${pid} of ${user} on ${hostname}, since ${startedAt}`)
  }
  return lines
}

function lineOf(
  { name, version, isPublished, taggedVersion, deprecated, gitTag }: PackageStatus,
  { isRepository }: ReleaseStatus,
): string {
  const notes = [
    isPublished ? 'published' : 'not published',
    ...(isPublished && taggedVersion !== version
      ? [`the dist-tag points to ${taggedVersion ?? 'no version'}`]
      : []),
    ...(deprecated !== undefined ? [`deprecated: ${deprecated}`] : []),
    ...(isPublished && isRepository && gitTag === undefined ? ['no Git tag'] : []),
  ]
  return `${name}@${version}  ${notes.join(', ')}`
}
