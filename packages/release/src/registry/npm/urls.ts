/** Addresses on an npm registry. `base` may have a path and may or may not end with a slash. */

/** `@scope/name` is one segment of the path: registries want its slash encoded. */
function escaped(name: string): string {
  return name.replace('/', '%2f')
}

function join(base: string, path: string): string {
  const url = new URL(base)
  url.username = ''
  url.password = ''
  url.search = ''
  url.hash = ''
  return `${url.href.replace(/\/+$/, '')}/${path}`
}

export function packageUrl(base: string, name: string): string {
  return join(base, escaped(name))
}

export function versionUrl(base: string, name: string, version: string): string {
  return join(base, `${escaped(name)}/${encodeURIComponent(version)}`)
}

/** The address of the archive, as clients read it. Here the slash of a scope is a slash. */
export function archiveUrl(base: string, of: { name: string; version: string }): string {
  return join(base, `${of.name}/-/${of.name}-${of.version}.tgz`)
}

/** URL of all tags, or of one. */
export function tagsUrl(base: string, name: string, tag?: string): string {
  const all = join(base, `-/package/${escaped(name)}/dist-tags`)
  return tag === undefined ? all : `${all}/${encodeURIComponent(tag)}`
}

export function visibilityUrl(base: string, name: string): string {
  return join(base, `-/package/${escaped(name)}/visibility`)
}

/** Where the identity of a build is exchanged for a token. */
export function tokenExchangeUrl(base: string, name: string): string {
  return join(base, `-/npm/v1/oidc/token/exchange/package/${escaped(name)}`)
}

export function collaboratorsUrl(base: string, name: string): string {
  return join(base, `-/package/${escaped(name)}/collaborators?format=cli`)
}

/** The address for staging a version. */
export function stagePackageUrl(base: string, name: string): string {
  return join(base, `-/stage/package/${escaped(name)}`)
}

export function stageListUrl(base: string, page: number, perPage: number, name?: string): string {
  const query = new URLSearchParams({ page: String(page), perPage: String(perPage) })
  if (name !== undefined) query.set('package', name)
  return join(base, `-/stage?${query.toString()}`)
}

export function stagedUrl(base: string, id: string, action?: 'approve'): string {
  const staged = join(base, `-/stage/${encodeURIComponent(id)}`)
  return action === undefined ? staged : `${staged}/${action}`
}
