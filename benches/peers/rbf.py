"""One elimination path of kernel machines with numpy: the formulas of docs/method.md section 15, vectorised, with the exact number of
nodes. Usage: python rbf.py DIR crfe|rfe, where DIR is what `path export` wrote. Prints processor seconds and the order, as JSON."""

import json
import sys
import time

import numpy as np

COST, LAMBDA = 1.0, 0.5


def fit(kernel, theta, c):
    """Newton on the squared hinge with a kernel that has the bias in it; c is where to start."""
    while True:
        f = kernel @ c
        gap = c - np.where(theta * f < 1, 2 * COST * (theta - f), 0)
        if gap @ kernel @ gap <= 1e-20 * (2 * COST) ** 2 * (theta @ kernel @ theta):
            return c
        support = np.flatnonzero(theta * f < 1)
        target = np.zeros_like(c)
        system = kernel[np.ix_(support, support)] + np.eye(len(support)) / (2 * COST)
        target[support] = np.linalg.solve(system, theta[support])
        objective = lambda c: 0.5 * c @ kernel @ c + COST * (np.maximum(0, 1 - theta * (kernel @ c)) ** 2).sum()
        step, before = 1.0, objective(c)
        while objective(c + step * (target - c)) > before and step > 1e-9:
            step /= 2
        c = c + step * (target - c)


def betas(c, train, selection, y, gamma, classes):
    """The Shapley shares of all features, summed over the selection rows."""
    t = train.shape[1]
    lost = 1 - np.exp(-gamma * (train[:, None, :] - selection[None, :, :]) ** 2)
    nodes, weights = np.polynomial.legendre.leggauss((t + 1) // 2)
    integral = np.zeros_like(lost)
    for tau, weight in zip((nodes + 1) / 2, weights / 2):
        factors = 1 - tau * lost
        integral += weight * factors.prod(axis=2)[:, :, None] / factors
    other = (1 - LAMBDA) / (classes - 1)
    by_label = -LAMBDA * c + other * (c.sum(axis=0) - c)
    return -np.einsum("si,sij->j", by_label[y].T, lost * integral)


def changes(c, train, gamma):
    """What removing each feature changes in the objective, with c as it is."""
    squares = (train[:, None, :] - train[None, :, :]) ** 2
    total = squares.sum(axis=2)
    weight = np.einsum("rs,rt->st", c, c)
    return 0.5 * np.einsum("st,stj->j", weight, np.exp(-gamma * total)[:, :, None] - np.exp(-gamma * (total[:, :, None] - squares)))


def path(method, x, y, selection, y_selection):
    classes = y.max() + 1
    present, order = list(range(x.shape[1])), []
    c = np.zeros((1 if classes == 2 else classes, len(y)))
    while len(present) > 1:
        train, others = x[:, present], selection[:, present]
        gamma = 1 / len(present)
        squares = (train**2).sum(axis=1)
        kernel = np.exp(-gamma * np.maximum(0, squares[:, None] + squares[None, :] - 2 * train @ train.T)) + 1
        for machine in range(len(c)):
            positive = 1 if classes == 2 else machine
            c[machine] = fit(kernel, np.where(y == positive, 1.0, -1.0), c[machine])
        by_class = np.vstack([-c, c]) if classes == 2 else c
        if method == "crfe":
            at = int(np.argmax(betas(by_class, train, others, y_selection, gamma, classes)))
        else:
            at = int(np.argmin(changes(by_class, train, gamma)))
        order.append(present.pop(at))
    return order


def main():
    directory, method = sys.argv[1:3]
    tables = [np.loadtxt(f"{directory}/{part}.csv", delimiter=",") for part in ("train", "selection")]
    (x, y), (selection, y_selection) = [(table[:, :-1], table[:, -1].astype(int)) for table in tables]
    start = time.process_time()
    order = path(method, x, y, selection, y_selection)
    print(json.dumps({"path": time.process_time() - start, "order": order}))


if __name__ == "__main__":
    main()
