# Reads a model that crfe-tui fit has written, and predicts new rows; needs no packages.
#
#   Rscript crfe_model.R M.json new.csv > predictions.csv
#
# or, from R: source("crfe_model.R"); crfe_p_values(crfe_model("M.json"), read.csv("new.csv", check.names = FALSE, colClasses = "character"))
#
# docs/formats.md of crfe-tui describes the file.

# JSON without packages: lists of numbers become vectors, null becomes NA in them and NULL alone.
crfe_json <- function(text) {
  bytes <- utf8ToInt(text)
  at <- 1L
  space <- function() while (at <= length(bytes) && bytes[at] %in% c(32L, 9L, 10L, 13L)) at <<- at + 1L
  numberish <- utf8ToInt("+-0123456789.eE")
  string <- function() {
    at <<- at + 1L
    from <- at
    while (bytes[at] != 34L) at <<- at + if (bytes[at] == 92L) 2L else 1L
    raw <- bytes[seq.int(from, length.out = at - from)]
    at <<- at + 1L
    if (!92L %in% raw) return(intToUtf8(raw))
    out <- integer()
    i <- 1L
    while (i <= length(raw)) {
      if (raw[i] != 92L) { out <- c(out, raw[i]); i <- i + 1L; next }
      kind <- intToUtf8(raw[i + 1L])
      if (kind == "u") {
        code <- strtoi(intToUtf8(raw[i + 2:5]), 16L)
        i <- i + 6L
        if (code >= 0xD800 && code < 0xDC00) {
          code <- 0x10000 + (code - 0xD800) * 1024 + strtoi(intToUtf8(raw[i + 2:5]), 16L) - 0xDC00
          i <- i + 6L
        }
        out <- c(out, code)
      } else {
        out <- c(out, switch(kind, n = 10L, t = 9L, r = 13L, b = 8L, f = 12L, raw[i + 1L]))
        i <- i + 2L
      }
    }
    intToUtf8(out)
  }
  value <- function() {
    space()
    first <- intToUtf8(bytes[at])
    if (first == "{") {
      at <<- at + 1L
      out <- list()
      space()
      while (bytes[at] != 125L) {
        name <- string()
        space()
        at <<- at + 1L
        out[name] <- list(value())
        space()
        if (bytes[at] == 44L) { at <<- at + 1L; space() }
      }
      at <<- at + 1L
      return(out)
    }
    if (first == "[") {
      end <- at + 1L
      while (bytes[end] %in% c(numberish, 32L, 44L, utf8ToInt("nul"))) end <- end + 1L
      if (bytes[end] == 93L) {
        body <- intToUtf8(bytes[seq.int(at + 1L, length.out = end - at - 1L)])
        at <<- end + 1L
        if (!nzchar(body)) return(list())
        words <- trimws(strsplit(body, ",", fixed = TRUE)[[1]])
        words[words == "null"] <- NA
        return(as.numeric(words))
      }
      at <<- at + 1L
      out <- list()
      space()
      while (bytes[at] != 93L) {
        out[length(out) + 1L] <- list(value())
        space()
        if (bytes[at] == 44L) { at <<- at + 1L; space() }
      }
      at <<- at + 1L
      return(out)
    }
    if (first == "\"") return(string())
    if (first == "t") { at <<- at + 4L; return(TRUE) }
    if (first == "f") { at <<- at + 5L; return(FALSE) }
    if (first == "n") { at <<- at + 4L; return(NULL) }
    from <- at
    while (at <= length(bytes) && bytes[at] %in% numberish) at <<- at + 1L
    as.numeric(intToUtf8(bytes[seq.int(from, length.out = at - from)]))
  }
  value()
}

crfe_model <- function(path) {
  model <- crfe_json(paste(readLines(path, encoding = "UTF-8", warn = FALSE), collapse = "\n"))
  stopifnot(model$kind == "crfe-tui model", model$format == 2)
  known <- identical(model$estimator, "linear") || identical(model$estimator, "rbf") || is.list(model$estimator)
  stopifnot(known, !model$conformal$smoothed)
  model$classes <- unlist(model$classes)
  model$weights <- do.call(rbind, as.list(model$weights))
  model$support <- do.call(rbind, as.list(model$kernel$support))
  model$coefficients <- do.call(rbind, as.list(model$kernel$coefficients))
  model$donors <- do.call(rbind, as.list(model$preparation$filling$nearest$donors))
  model
}

# To the nearest whole number, halves away from zero.
crfe_whole <- function(x) {
  half <- abs(x - trunc(x)) == 0.5
  ifelse(half, trunc(x) + sign(x), round(x))
}

crfe_column <- function(model, column, cells) {
  variable <- model$variables[[column$variable + 1]]
  cells <- trimws(as.character(cells))
  words <- c("", "?", ".", unlist(model$reading$missing))
  cells[is.na(cells) | cells %in% words | tolower(cells) %in% c("na", "n/a", "nan", "null")] <- NA
  levels <- unlist(variable$levels)
  if (is.null(levels)) return(as.numeric(cells))
  if (isTRUE(variable$any_case)) cells <- tolower(cells)
  cells[!cells %in% levels] <- NA
  as.numeric(cells == levels[column$place + 1 + (length(levels) == 2)])
}

crfe_scale <- function(scaler, x) {
  if (identical(scaler, "keep")) return(x)
  if (identical(scaler, "zero")) return(ifelse(is.na(x), NA, 0))
  affine <- scaler$affine
  if (!is.null(scaler$shifted)) {
    x <- x * scaler$shifted[[1]][1] * scaler$shifted[[1]][2]
    affine <- scaler$shifted[[2]]
  }
  pmin(pmax((x - affine$centre) / affine$spread, -1e30), 1e30)
}

crfe_fill <- function(model, row) {
  gaps <- is.na(row)
  if (!any(gaps)) return(row)
  filling <- model$preparation$filling
  if (is.null(filling)) stop("a value is missing, and this model fills no gaps")
  filled <- ifelse(gaps, filling$fallback, row)
  if (is.null(filling$nearest)) return(filled)
  both <- !gaps & !is.na(model$donors)
  squares <- ifelse(both, (model$donors - row)^2, 0)
  distance <- colSums(squares) / colSums(both)
  nearest <- order(round(distance * 2^32), seq_along(distance), na.last = NA)
  for (j in which(gaps)) {
    values <- model$donors[j, nearest]
    values <- utils::head(values[!is.na(values)], filling$nearest$k)
    if (length(values)) filled[j] <- mean(values)
  }
  filled
}

# Rows × columns as numbers; what is missing is NA.
crfe_cells <- function(model, table) {
  x <- sapply(model$columns, function(column) {
    crfe_column(model, column, table[[model$variables[[column$variable + 1]]$name]])
  })
  matrix(x, nrow = nrow(table))
}

# Rows × columns of the machines, scaled and filled.
crfe_matrix <- function(model, table) {
  x <- crfe_cells(model, table)
  for (j in seq_len(ncol(x))) x[, j] <- crfe_scale(model$preparation$scaling[[j]], x[, j])
  for (i in seq_len(nrow(x))) x[i, ] <- crfe_fill(model, x[i, ])
  splines <- model$preparation$splines
  if (is.null(splines)) return(x)
  terms <- lapply(seq_along(splines), function(j) {
    spline <- splines[[j]]
    sapply(seq_along(spline$scalers), function(t) crfe_scale(spline$scalers[[t]], crfe_term(spline$knots, t, x[, j])))
  })
  matrix(unlist(terms), nrow = nrow(x))
}

# Term 1 is x itself, the others are restricted cubics, one for each knot but the last two.
crfe_term <- function(knots, term, x) {
  if (term == 1) return(x)
  k <- length(knots)
  unit <- knots[k] - knots[1]
  knot <- knots[term - 1]
  gap <- (knots[k] - knots[k - 1]) / unit
  end <- (knots[k] - knot) / unit
  inner <- (knots[k - 1] - knot) / unit
  inside <- pmax((x - knot) / unit, 0)^3 - pmax((x - knots[k - 1]) / unit, 0)^3 * end / gap
  beyond <- end^3 - gap^2 * end + 3 * end * inner * ((x - knots[k]) / unit)
  unit * ifelse(x <= knots[k], inside, beyond)
}

crfe_decisions <- function(model, table) {
  x <- crfe_matrix(model, table)
  if (is.null(model$kernel)) return(sweep(x %*% t(model$weights), 2, model$bias, `+`))
  squares <- vapply(seq_len(nrow(x)), function(i) rowSums(sweep(model$support, 2, x[i, ])^2), numeric(nrow(model$support)))
  t(exp(-model$kernel$gamma * matrix(squares, ncol = nrow(x))) + 1) %*% t(model$coefficients)
}

# Rows × classes.
crfe_p_values <- function(model, table) {
  f <- crfe_decisions(model, table)
  conformal <- model$conformal
  m <- length(model$classes)
  total <- rowSums(f)
  if (conformal$score == "weighted") {
    alpha <- -conformal$lambda * f + (1 - conformal$lambda) / (m - 1) * (total - f)
  } else {
    rest <- matrix(sum(model$bias) - model$bias, nrow(f), m, byrow = TRUE)
    alpha <- -f + (total - f - rest) + rest / (m - 1)
  }
  alpha <- crfe_whole(alpha * 2^32)
  p <- alpha
  for (y in seq_len(m)) {
    category <- conformal$calibration[[if (conformal$mondrian) y else 1]]
    known <- unlist(category$alpha) * 2^32
    below <- findInterval(alpha[, y], known, left.open = TRUE)
    n <- length(known)
    p[, y] <- if (!is.null(category$groups)) {
      votes <- c(rev(cumsum(rev(category$share))), 0)[below + 1]
      (crfe_whole(votes * 2^44) / 2^44 + 1) / (category$groups + 1)
    } else if (conformal$score == "weighted") {
      (n - below + 1) / (n + 1)
    } else {
      pmin((n - below + 1) / max(n, 1), 1)
    }
  }
  # Of a row in which nothing was measured nothing is known: its set holds every class.
  p[rowSums(!is.na(crfe_cells(model, table))) == 0, ] <- 1
  colnames(p) <- paste0("p_", model$classes)
  p
}

if (sys.nframe() == 0L && length(commandArgs(TRUE)) == 2) {
  arguments <- commandArgs(TRUE)
  model <- crfe_model(arguments[1])
  table <- read.csv(arguments[2], check.names = FALSE, colClasses = "character", na.strings = character())
  p <- crfe_p_values(model, table)
  predicted <- model$classes[max.col(crfe_decisions(model, table), ties.method = "first")]
  sets <- apply(p, 1, function(values) paste(model$classes[values > model$conformal$epsilon], collapse = ";"))
  shown <- apply(p, 2, function(values) format(values, digits = 17, trim = TRUE))
  write.csv(data.frame(predicted, set = sets, matrix(shown, nrow(p), dimnames = dimnames(p)), check.names = FALSE), row.names = FALSE, quote = FALSE)
}
