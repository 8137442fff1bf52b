import { makeInventory } from '../../src/inventory/make-inventory.ts'
import type { Analysis, ProgramAnalysis } from '../../src/analysis.ts'
import type { Location } from '../../src/ir/locations.ts'
import type { FunctionUnit } from '../../src/ir/program.ts'
import type { Catalogue } from '../../src/models/catalogue.ts'

/** The whole output of an analysis, except how long it took. */
export function told({ findings, diagnostics, files, stats, extentOf }: Analysis): unknown {
  const { ms: _, ...counts } = stats
  return { findings, extents: findings.map(extentOf), diagnostics, files, counts }
}

/** The same with all that a program knows, its inventory included. */
export function toldWithProgram(analysis: ProgramAnalysis, catalogue: Catalogue): unknown {
  const { program } = analysis
  return {
    ...(told(analysis) as object),
    units: program.units.map(unitFacts),
    classes: program.classes.map(({ name, isExported, superClass, subclasses }) => ({
      name,
      isExported,
      superClass: superClass?.name,
      subclasses: subclasses.map((one) => one.name),
    })),
    locations: program.locations.map(locationFacts),
    imports: program.files.map(({ imports }) => [...imports].map(([to, file]) => [to, file?.path])),
    inventory: makeInventory(program, catalogue),
  }
}

function unitFacts(unit: FunctionUnit): unknown {
  const { id, name, isExported, isAsync, visibility, callers, reach, suspensions, graph } = unit
  return {
    id,
    name,
    isExported,
    isAsync,
    visibility,
    callers: callers.map(({ owner, start }) => [owner.id, start]),
    reach: [...reach].map(([kind, { text, file }]) => [kind, text, file.path]),
    suspensions: suspensions.map(({ kind, start }) => [kind, start]),
    suspends: graph?.suspends,
    blocks: graph?.blocks.map(({ events }) => events.map(({ op, start }) => [op, start])),
    calls: unit.calls.map((site) => ({
      start: site.start,
      targets: site.targets.map((target) => target.id),
      isGuess: site.isGuess,
      external: site.external,
      callbacks: site.callbacks.map((use) => [use.index, use.unit.id, use.role]),
    })),
  }
}

function locationFacts({ id, name, file, canonical }: Location): unknown {
  return { id, name, file: file.path, canonical: canonical.id }
}
