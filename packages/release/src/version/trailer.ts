/** The trailer of a commit that has made versions: `Heddle-Versions: a@1.1.0 b@2.0.0`. */
export const versionTrailer = 'Heddle-Versions'
