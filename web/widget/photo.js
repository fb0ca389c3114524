// The bytes of a photo that a page shows.

import { fault } from "./espalier-ladder.js";

// Enough for every model; a photo is made smaller before it is read in any case.
const MOST = 2048;

/**
 * The file where this page may fetch it, which is certain for the place that Espalier itself lies
 * at; else the picture as the browser shows it. A fetch that the policy forbids would be reported to
 * whoever runs the page.
 */
export async function photoOf(url, home) {
  const mine = url.origin === home.origin || ["data:", "blob:"].includes(url.protocol);
  if (mine) {
    try {
      const response = await fetch(url);
      if (response.ok) return await response.blob();
    } catch {
      // A policy may name folders instead of origins, and allow pictures where it allows no fetch.
    }
  }
  return painted(await loaded(url));
}

async function loaded(url) {
  const picture = new Image();
  if (url.origin !== location.origin && url.protocol.startsWith("http")) picture.crossOrigin = "anonymous";
  picture.src = url;
  try {
    await picture.decode();
    return picture;
  } catch (error) {
    throw fault(
      "photo",
      `The photo “${url.pathname.split("/").pop()}” could not be read.`,
      "Whoever runs this page has to put it on the same site, or let other sites read it (Access-Control-Allow-Origin).",
      error,
    );
  }
}

/** A picture as PNG, upright as the browser shows it. */
async function painted(picture) {
  const scale = Math.min(1, MOST / Math.max(picture.naturalWidth, picture.naturalHeight));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(picture.naturalWidth * scale));
  canvas.height = Math.max(1, Math.round(picture.naturalHeight * scale));
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(picture, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
