import { projectIn, type ForgeApi } from './api.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** The releases of GitHub, or what it lacks, as a sentence. */
export function githubApi(env: Environment, remote: string): ForgeApi | string {
  const token = env['GITHUB_TOKEN'] || env['GH_TOKEN']
  if (!token) return 'a token in GITHUB_TOKEN that may write the contents of the repository'
  const project = env['GITHUB_REPOSITORY'] || projectIn(remote)
  if (project === undefined) return 'a repository of GitHub: set GITHUB_REPOSITORY to owner/name'
  const url = (env['GITHUB_API_URL'] || 'https://api.github.com').replace(/\/$/, '')
  const releases = `${url}/repos/${project}/releases`
  return {
    url,
    headers: {
      accept: 'application/vnd.github+json',
      authorization: `Bearer ${token}`,
      'user-agent': 'heddle-release',
      'x-github-api-version': '2022-11-28',
    },
    find: (tag) => `${releases}/tags/${encodeURIComponent(tag)}`,
    create: {
      url: releases,
      body: ({ tag, title, notes, commit, isPrerelease }) => ({
        tag_name: tag,
        target_commitish: commit,
        name: title,
        body: notes,
        prerelease: isPrerelease,
      }),
    },
  }
}
