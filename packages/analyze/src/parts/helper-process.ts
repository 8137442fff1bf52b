/** A process that analyses one part after the other, until nobody is there to send any. */
import { systemKernel } from '@heddle/core/lowlevel'
import { Resolver } from '../frontend/resolve/resolve.ts'
import { loadCatalogue } from '../models/load.ts'
import type { FromHelper, HelperOptions, ToHelper } from './protocol.ts'
import { readAndAnalyze, type ReadContext } from './read-and-analyze.ts'

let context: Promise<ReadContext> | undefined

process.on('message', (message: ToHelper) => {
  if (message.kind === 'start') context = prepare(message.options)
  else {
    // Who sent the part does it then, and has somebody to tell the error to.
    readAndTell(message).catch(() => process.exit(1))
  }
})
process.once('disconnect', () => process.exit())

async function prepare(options: HelperOptions): Promise<ReadContext> {
  return {
    options,
    overlays: options.overlays,
    catalogue: await loadCatalogue(options.models),
    resolver: new Resolver(options.files),
    clock: systemKernel.clock,
  }
}

async function readAndTell({ part }: Extract<ToHelper, { kind: 'part' }>): Promise<void> {
  if (context === undefined) throw new Error('A part came before the start.')
  const answer: FromHelper = { result: await readAndAnalyze(part, await context) }
  process.send?.(answer)
}
