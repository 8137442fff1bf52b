/** Builds 50 packages, then again without outputs, then after a change of one source. */
import { rm, writeFile } from 'node:fs/promises'
import { build } from './build.ts'
import { tasks, writeSources } from './tasks.ts'

const folder = 'project'

async function show(what: string): Promise<void> {
  const { built, restored, milliseconds } = await build(folder, tasks)
  const time = `${(milliseconds / 1_000).toFixed(1)} s`
  console.log(`${what.padEnd(24)} ${built.length} built, ${restored.length} restored in ${time}`)
}

await rm(folder, { recursive: true, force: true })
await writeSources(folder)
await show('the first time')

await rm(`${folder}/out`, { recursive: true })
await show('without outputs')

await writeFile(`${folder}/src/package-3-4.txt`, 'package-3-4 has changed\n')
await show('package-3-4 has changed')

await writeFile(`${folder}/src/package-3-4.txt`, 'package-3-4 is here\n')
await show('the change is taken back')
