/** 50 packages in five layers, each with one source file and one shell command that builds it. */
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'

export interface Task {
  readonly name: string
  /** Run by a shell, in the folder of the project. */
  readonly command: string
  /** Files that the command reads: what it is built from decides whether it is built again. */
  readonly inputs: readonly string[]
  /** The file that it writes. */
  readonly output: string
  /** Names of the tasks whose outputs it reads. */
  readonly after: readonly string[]
}

const layers = 5
const width = 10

/** Each package uses two of the layer below it. */
export const tasks: readonly Task[] = Array.from({ length: layers * width }, (_, i) => {
  const layer = Math.floor(i / width)
  const after = layer === 0 ? [] : [nameOf(layer - 1, i), nameOf(layer - 1, i + 1)]
  const name = nameOf(layer, i)
  const inputs = [`src/${name}.txt`, ...after.map((other) => `out/${other}.txt`)]
  const output = `out/${name}.txt`
  return { name, command: `sort -u ${inputs.join(' ')} > ${output}`, inputs, output, after }
})

function nameOf(layer: number, i: number): string {
  return `package-${layer}-${i % width}`
}

/** Writes the sources of all packages. */
export async function writeSources(folder: string): Promise<void> {
  await mkdir(path.join(folder, 'src'), { recursive: true })
  for (const { name } of tasks) {
    await writeFile(path.join(folder, `src/${name}.txt`), `${name} is here\n`)
  }
}
