import type { ReleasePlan } from '../../model.ts'
import { inReleaseOrder, versionChange } from './plan-levels.ts'
import { plainText } from './column-text.ts'

/** The released packages as a Mermaid diagram; arrows point to later packages. */
export function planMermaid(plan: ReleasePlan): string {
  const included = inReleaseOrder(plan).filter(({ status }) => status === 'included')
  const ids = new Map(included.map(({ package: { name } }, index) => [name, `p${index}`]))
  const lines = ['graph LR']
  for (const planned of included) {
    const { name } = planned.package
    lines.push(`  ${ids.get(name)}["${escaped(name)}<br/>${escaped(versionChange(planned))}"]`)
  }
  for (const {
    package: { name },
    after,
  } of included) {
    for (const dependency of after) lines.push(`  ${ids.get(dependency)} --> ${ids.get(name)}`)
  }
  return `${lines.join('\n')}\n`
}

function escaped(text: string): string {
  return plainText(text)
    .replaceAll('&', '#amp;')
    .replaceAll('"', '#quot;')
    .replaceAll('<', '#lt;')
    .replaceAll('>', '#gt;')
}
