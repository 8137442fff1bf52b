/** A thread that takes parts until none is left. */
import { parentPort, workerData } from 'node:worker_threads'
import { systemKernel } from '@heddle/core/lowlevel'
import { Resolver } from '../frontend/resolve/resolve.ts'
import { loadCatalogue } from '../models/load.ts'
import type { FromHelper, HelperStart } from './protocol.ts'
import { takeParts } from './take-parts.ts'

const { options, parts, taken } = workerData as HelperStart
await takeParts(parts, taken, {
  options,
  overlays: options.overlays,
  catalogue: await loadCatalogue(options.models),
  resolver: new Resolver(options.files),
  clock: systemKernel.clock,
  onResult: (index, result) => {
    const message: FromHelper = { index, result }
    parentPort?.postMessage(message)
  },
})
