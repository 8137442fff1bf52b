/** Ranges of `workspace:`, and the version that they stand for. pnpm takes them also as one of several parts. */

const protocol = 'workspace:'

/** `^0.9.0 || workspace:^`: whether one of several parts is a range of the workspace. */
export function hasWorkspacePart(range: string): boolean {
  return range.includes('||') && /(?:^|\|\|)\s*workspace:/.test(range)
}

/** What `*`, `^`, `~`, `>=` or `<=` without a number stands for. Undefined for any other range. */
export function rangeOfVersion(spec: string, version: string): string | undefined {
  if (spec === '' || spec === '*') return version
  return /^(?:[\^~]|[<>]=)$/.test(spec) ? `${spec}${version}` : undefined
}

/** `^0.9.0 || workspace:^` → `^0.9.0 || ^1.2.3`. */
export function withVersion(range: string, version: string): string {
  const parts = range.split('||').map((part) => {
    const written = part.trim()
    if (!written.startsWith(protocol)) return written
    const spec = written.slice(protocol.length).trim()
    return rangeOfVersion(spec, version) ?? spec
  })
  return parts.join(' || ')
}
