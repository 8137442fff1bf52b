import { randomUUID } from 'node:crypto'
import type { Figures } from '../../../harness/row.ts'
import { workFolder } from '../../../servers/work-folder.ts'
import { link, limitsIn } from '../case/play-case.ts'
import { Repository } from '../case/repository.ts'
import { runProgram } from '../case/run-program.ts'
import { caseLimit, manyNeeds, manyPackages, version } from '../conditions.ts'
import type { Tool } from '../tools/tool.ts'

/** Publishes the large workspace once, and counts what the registry has afterwards. */
export async function publishMany(tool: Tool, registry: string): Promise<Figures> {
  const until = performance.now() + caseLimit
  const packages = manyNeeds()
  const repository = new Repository({
    folder: await workFolder(),
    scope: `many-${randomUUID().slice(0, 8)}`,
    registry,
    files: tool.files,
    packages,
  })
  await repository.write()
  if (tool.isLinked) await link(repository, until)
  await repository.commit()
  const { exit, seconds, stderr } = await runProgram(tool.command, limitsIn(repository, until))
  let published = 0
  for (const name of Object.keys(packages)) {
    const answer = await fetch(`${registry}/${repository.nameOf(name).replace('/', '%2F')}`)
    const { versions = {} } = (await answer.json()) as { versions?: Record<string, unknown> }
    if (answer.ok && versions[version] !== undefined) published++
  }
  const tags = (await repository.tags()).length
  const value = published === manyPackages ? published / seconds : Number.NaN
  const message = exit === 0 ? '' : stderr.trim().slice(-200)
  return {
    value,
    also: {},
    observed: { command: tool.title, exit, seconds, published, tags, message },
  }
}
