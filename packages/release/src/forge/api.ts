export interface ForgeRelease {
  /** The Git tag, which the remote has. */
  readonly tag: string
  readonly title: string
  /** Markdown; may be empty. */
  readonly notes: string
  readonly commit: string
  readonly isPrerelease: boolean
}

/** Why nothing can be announced, and what to do about it. */
export interface ForgeLack {
  readonly problem: string
  readonly todo: string
}

/** What differs between forges. */
export interface ForgeApi {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly find: (tag: string) => string
  readonly create: { readonly url: string; readonly body: (release: ForgeRelease) => object }
}

/** `owner/name` of an address that Git knows; groups of GitLab may be nested. */
export function projectIn(remote: string): string | undefined {
  return /(?:[/:])((?:[\w.-]+\/)+[\w.-]+?)(?:\.git)?\/?$/.exec(
    remote.replace(/^\w+:\/\/[^/]+/, ''),
  )?.[1]
}
