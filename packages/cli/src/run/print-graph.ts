import type { Graph } from '@heddle/core'
import { exitCodes } from '../exit-codes.ts'
import { Output } from '../output/output.ts'
import { errorLines } from '../output/report-error.ts'
import { paint } from '../text/line.ts'
import { drawGraph, type GraphFormat } from './draw-graph.ts'
import { helpFor } from './hints.ts'
import { loadGraph } from '../user-code/load-graph.ts'
import type { RunSettings } from './run-settings.ts'

/**
 * `heddle run --graph`: prints the graph of a module and ends the process; nothing runs and nothing is recorded.
 *
 * *Cancellation*: none; an import cannot be stopped.
 */
export async function printGraph(
  { file, args, only }: Pick<RunSettings, 'file' | 'args' | 'only'>,
  format: GraphFormat,
): Promise<void> {
  const out = new Output(process.stdout)
  const err = new Output(process.stderr)
  let graph: Graph | undefined
  try {
    ;({ graph } = await loadGraph(file, args))
    out.write(drawGraph(only === undefined ? graph : graph.only(only), format))
  } catch (error) {
    const help = helpFor(error, { file, key: undefined, graph })
    for (const line of errorLines(error, '', help)) err.line(paint(line, process.stderr.isTTY))
    process.exitCode = exitCodes.usage
  }
  await Promise.all([out.flush(), err.flush()])
  // A module that has opened something, such as a pool of connections, would keep the process alive.
  process.exit()
}
